// e^x of a long double against libm's.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

#include <chalkgrad/autograd/kernel/long_exp.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>

namespace test_long_exp {
BOOST_AUTO_TEST_SUITE(long_exp)

namespace kernels = chalkgrad::base;

BOOST_AUTO_TEST_CASE(agrees_with_libm_to_two_units) {
    chalkgrad::Generator rng(1);
    long double worst = 0;
    const auto see = [&](long double x) {
        const long double right = std::exp(x);
        worst = std::max(
            worst, std::abs(kernels::long_exp(x) - right) / (right * std::numeric_limits<long double>::epsilon()));
    };
    for (const double size : {1e-12, 1e-3, 1.0, 30.0, 699.0})
        for (int i = 0; i < 20000; ++i) see(rng.uniform(-size, size) * (1 + 1e-17L * rng.uniform(0, 1)));
    // On both sides of every change of n.
    for (int n = -64; n <= 64; ++n)
        for (const long double off : {-1e-15L, 0.0L, 1e-15L}) see((n + 0.5L) * 0.0216608493924982909192L + off);
    BOOST_TEST(worst <= 2);
}

BOOST_AUTO_TEST_CASE(special_values) {
    constexpr long double inf = std::numeric_limits<long double>::infinity();
    BOOST_TEST(kernels::long_exp(0) == 1);
    BOOST_TEST(kernels::long_exp(-inf) == 0);
    BOOST_TEST(kernels::long_exp(inf) == inf);
    BOOST_TEST(std::isnan(kernels::long_exp(std::numeric_limits<long double>::quiet_NaN())));
    for (const long double x : {700.0L, -700.0L, 11000.0L, -11000.0L}) BOOST_TEST(kernels::long_exp(x) == std::exp(x));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_long_exp
