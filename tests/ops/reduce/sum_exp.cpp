// exp of what is not above 0, and its sum: against long double, to the ends of the axis, on every instruction set.
#include <chalkgrad/ops/reduce/sum_exp.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T> T tested_exp_and_sum(std::size_t n, const T* x, T* y) {
    return exp_and_sum<T>(
        n, [=](std::size_t i) FAST { return x[i]; }, y);
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(tested_exp_and_sum)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "../elementwise/unary.hpp"

using namespace chalkgrad;
using namespace chalkgrad::testing;

BOOST_AUTO_TEST_SUITE(sum_exp)

using Simd = boost::mpl::list<double, float>;

BOOST_AUTO_TEST_CASE_TEMPLATE(within_a_unit_in_the_last_place, T, Simd) {
    using L = std::numeric_limits<T>;
    // Down to where exp is subnormal, and to 0; the steps are no round numbers.
    const T low = std::is_same_v<T, double> ? T(-760) : T(-110);
    std::vector<T> x, y(20'003);
    for (std::size_t i = 0; i < y.size(); ++i) {
        const T part = static_cast<T>(i) / static_cast<T>(y.size());
        x.push_back(i % 2 == 0 ? low * part : -part);
    }
    on_every_isa([&] {
        const T total = kernel::tested_exp_and_sum<T>(x.size(), x.data(), y.data());
        double worst = 0;
        long double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const long double exact = std::exp(static_cast<long double>(x[i]));
            int exponent = L::min_exponent;
            std::frexp(static_cast<T>(exact), &exponent);
            const long double unit = std::ldexp(1.0L, std::max(exponent, int(L::min_exponent)) - L::digits);
            worst = std::max(worst, static_cast<double>(std::abs(y[i] - exact) / unit));
            sum += exact;
        }
        BOOST_TEST(worst < 1.1);
        check_near(total, sum, 1000 * static_cast<double>(L::epsilon()));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(special_values, T, Simd) {
    using L = std::numeric_limits<T>;
    const std::vector<T> x{-L::infinity(), L::lowest(), T(-0.0), T(0), L::quiet_NaN(), -L::denorm_min(), T(-1e4)};
    std::vector<T> y(x.size());
    on_every_isa([&] {
        BOOST_TEST(std::isnan(kernel::tested_exp_and_sum<T>(x.size(), x.data(), y.data())));
        for (const std::size_t i : {0, 1, 6}) BOOST_TEST(y[i] == 0);
        for (const std::size_t i : {2, 3, 5}) BOOST_TEST(y[i] == 1);
        BOOST_TEST(std::isnan(y[4]));
    });
}

BOOST_AUTO_TEST_CASE(other_scalars_use_their_own_exp) {
    const std::vector<Dual<double>> x{{-1, 2}, {0, 1}};
    std::vector<Dual<double>> y(2);
    const Dual<double> total = kernel::tested_exp_and_sum<Dual<double>>(2, x.data(), y.data());
    check_near(total.v, 1 + std::exp(-1.0), 1e-15);
    check_near(total.d, 1 + 2 * std::exp(-1.0), 1e-15);
}

BOOST_AUTO_TEST_SUITE_END()
#endif
