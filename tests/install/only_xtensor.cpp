// A user's file that knows xtensor and nothing of chalkgrad: linking chalkgrad::chalkgrad must make it right under C++20.
#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>

#include <cmath>
#include <type_traits>

static_assert(__cplusplus >= 202002L, "chalkgrad::chalkgrad asks for C++20");

bool xtensor_is_right() {
    const xt::xarray<double> a{{1, 2, 3}, {4, 5, 9}};
    const auto sums = xt::eval(xt::sum(a, {1}));
    static_assert(std::is_same_v<std::decay_t<decltype(sums)>, xt::xarray<double>>);
    const auto at_once = xt::sum(a, {1}, xt::evaluation_strategy::immediate);
    const xt::xarray<double> variances = xt::variance(a, {1});
    const double deviation = xt::stddev(a)();
    return sums(0) == 6 && sums(1) == 18 && at_once(0) == 6 && at_once(1) == 18 &&
           std::abs(variances(0) - 2. / 3) < 1e-15 && std::abs(variances(1) - 14. / 3) < 1e-15 &&
           std::abs(deviation - std::sqrt(20. / 3)) < 1e-15;
}
