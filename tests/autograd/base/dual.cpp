// Dual numbers: every rule against differences in long double, the exceptional points, and use inside xtensor arrays.
#include <chalkgrad/autograd/base/array.hpp>
#include <chalkgrad/autograd/base/dual.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <type_traits>

namespace test_dual {
BOOST_AUTO_TEST_SUITE(dual)

using namespace chalkgrad;
using D = Dual<double>;

namespace {

// The derivative of f at x by five points, good to about 1e-14.
template <class F> double slope(F f, long double x) {
    const long double h = 5e-5L * std::max(1.0L, std::abs(x));
    return static_cast<double>((8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h));
}

// f, a generic function: its dual at x with a tangent that is not 1, against itself in long double.
template <class F> void check(F f, double x, double tolerance = 1e-12) {
    const D y = f(D(x, 0.75));
    BOOST_TEST(y.v == static_cast<double>(f(static_cast<long double>(x))), boost::test_tools::tolerance(1e-15));
    BOOST_TEST(y.d == 0.75 * slope(f, x), boost::test_tools::tolerance(tolerance));
    BOOST_TEST(f(D(x)).d == 0);
}

bool is(D x, double v, double d) { return x.v == v && x.d == d; }

} // namespace

BOOST_AUTO_TEST_CASE(arithmetic_follows_the_product_and_quotient_rules) {
    check([](auto x) { return 3 * x - x / 7 + 2; }, 1.5);
    check([](auto x) { return x * x * x; }, -1.25);
    check([](auto x) { return (1 + x) / (x * x - 5); }, 0.5);
    check([](auto x) { return -x + +x * x; }, 0.5);
    D x(3, 1);
    x += 2;
    x *= x;
    x -= 1.0f;
    x /= 4L;
    BOOST_TEST(is(x, 6, 2.5));
}

BOOST_AUTO_TEST_CASE(functions_have_their_derivatives) {
    using std::sqrt, std::exp, std::expm1, std::log, std::log1p, std::tanh, std::erf, std::erfc, std::sin, std::cos,
        std::pow, std::hypot;
    for (const double x : {0.3, 1.7, 4.0}) {
        check([](auto v) { return sqrt(v); }, x);
        check([](auto v) { return log(v); }, x);
        check([](auto v) { return pow(v, decltype(v)(2.5)); }, x);
        check([](auto v) { return pow(decltype(v)(2.5), v); }, x);
        check([](auto v) { return pow(v, v); }, x);
    }
    for (const double x : {-2.2, -0.4, 0.3, 1.9}) {
        check([](auto v) { return exp(v); }, x);
        check([](auto v) { return expm1(v); }, x);
        check([](auto v) { return log1p(v * v); }, x);
        check([](auto v) { return tanh(v); }, x);
        check([](auto v) { return erf(v); }, x);
        check([](auto v) { return erfc(v); }, x);
        check([](auto v) { return sin(v); }, x);
        check([](auto v) { return cos(v); }, x);
        check([](auto v) { return hypot(v, v * 2 + 3); }, x);
        check([](auto v) { return pow(v, decltype(v)(3)); }, x);
    }
}

BOOST_AUTO_TEST_CASE(sigmoid_and_tanh_keep_their_tails) {
    for (const double z : {-720.0, -40.0, -1.0, 0.0, 1.0, 40.0, 700.0}) {
        const D y = sigmoid(D(z, 1));
        const double e = std::exp(-std::abs(z));
        BOOST_TEST(y.v / ((z < 0 ? e : 1) / (1 + e)) == 1, boost::test_tools::tolerance(1e-15));
        BOOST_TEST(y.d / (e / ((1 + e) * (1 + e))) == 1, boost::test_tools::tolerance(1e-15));
    }
    BOOST_TEST(tanh(D(30, 1)).d / (4 * std::exp(-60.0)) == 1, boost::test_tools::tolerance(1e-15));
    BOOST_TEST(is(tanh(D(1e300, 1)), 1, 0));
    BOOST_TEST(is(sigmoid(D(-1e300, 1)), 0, 0));
}

BOOST_AUTO_TEST_CASE(a_constant_stays_constant_where_the_slope_is_infinite) {
    BOOST_TEST(is(sqrt(D(0)), 0, 0));
    BOOST_TEST(is(sqrt(D(0, 1)), 0, INFINITY));
    BOOST_TEST(is(log(D(0)), -INFINITY, 0));
    BOOST_TEST(is(log1p(D(-1)), -INFINITY, 0));
    BOOST_TEST(is(pow(D(0), D(0.5)), 0, 0));
    BOOST_TEST(is(hypot(D(0, 1), D(0, 1)), 0, 0));
    BOOST_TEST(is(exp(D(-INFINITY)), 0, 0));
}

BOOST_AUTO_TEST_CASE(powers_at_the_edge) {
    BOOST_TEST(is(pow(D(-2, 1), D(3)), -8, 12)); // no logarithm of the negative base
    BOOST_TEST(is(pow(D(0, 1), D(2)), 0, 0));
    BOOST_TEST(is(pow(D(0, 1), D(1)), 0, 1));
    BOOST_TEST(is(pow(D(0, 1), D(0)), 1, 0));
    BOOST_TEST(is(pow(D(0), D(2, 1)), 0, 0)); // 0^y is 0 for every y > 0
    BOOST_TEST(is(pow(D(3, 1), 2), 9, 6));
}

BOOST_AUTO_TEST_CASE(a_kink_takes_the_tangent_of_the_branch) {
    const auto relu = [](D x) { return x > 0 ? x : D(0); };
    const auto clamp = [](D x, D limit) { return x > limit ? limit : x; };
    BOOST_TEST(is(relu(D(2, 5)), 2, 5));
    BOOST_TEST(is(relu(D(0, 5)), 0, 0));
    BOOST_TEST(is(clamp(D(7, 5), 7), 7, 5));
    BOOST_TEST(is(clamp(D(8, 5), 7), 7, 0));
    BOOST_TEST(is(abs(D(-3, 2)), 3, -2));
    BOOST_TEST(is(abs(D(3, 2)), 3, 2));
    BOOST_TEST(is(abs(D(0, 2)), 0, 0));
    BOOST_TEST(std::isnan(abs(D(NAN, 2)).v));
}

BOOST_AUTO_TEST_CASE(comparisons_see_values_only_and_mix_with_numbers) {
    const D x(2, 9);
    BOOST_TEST((x == 2 && 2 == x && x == D(2, -1) && x != 3.0f));
    BOOST_TEST((x < 3 && 1 < x && x <= 2 && x >= 2L && x > 1.5));
    BOOST_TEST(!(D(NAN) == D(NAN)));
    BOOST_TEST(isfinite(x));
    BOOST_TEST(!isfinite(D(1, INFINITY)));
    BOOST_TEST(!isfinite(D(NAN)));
}

BOOST_AUTO_TEST_CASE(numeric_limits_are_those_of_the_value) {
    static_assert(std::numeric_limits<D>::is_specialized && std::numeric_limits<D>::has_infinity);
    static_assert(std::is_same_v<decltype(std::numeric_limits<D>::lowest()), D>);
    BOOST_TEST(std::numeric_limits<D>::infinity().v == INFINITY);
    BOOST_TEST(std::numeric_limits<D>::lowest().v == std::numeric_limits<double>::lowest());
    BOOST_TEST(std::numeric_limits<D>::epsilon().v == std::numeric_limits<double>::epsilon());
    BOOST_TEST(std::isnan(std::numeric_limits<D>::quiet_NaN().v));
}

BOOST_AUTO_TEST_CASE(nested_duals_give_second_derivatives) {
    using DD = Dual<D>;
    const DD x(D(0.7, 1), D(1, 0));
    BOOST_TEST((x * x * x).d.d == 6 * 0.7, boost::test_tools::tolerance(1e-15));
    BOOST_TEST(exp(2 * x).d.d == 4 * std::exp(1.4), boost::test_tools::tolerance(1e-15));
    const double t = std::tanh(0.7);
    BOOST_TEST(tanh(x).d.d == -2 * t * (1 - t * t), boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(lives_in_arrays) {
    xt::xarray<D> a = {{D(1, 2), D(3)}, {4.0, 5}};
    xt::xarray<D> b = xt::zeros<D>({2, 2});
    b = a;
    b(0, 0) = 7;
    b(1, 1) += a(0, 0);
    const xt::xarray<D> c = a * b + 1.0;
    BOOST_TEST(is(a(0, 0), 1, 2));
    BOOST_TEST(is(b(1, 1), 6, 2));
    BOOST_TEST(is(c(0, 0), 8, 14));
    BOOST_TEST(is(c(1, 1), 31, 10));
    BOOST_TEST((c.shape(0) == 2 && c.dimension() == 2));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_dual
