// exp, log, sqrt and their kin: special values, tails, the zero cotangent, scalars and instruction sets in agreement.
#include "unary.hpp"

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>

namespace test_elementwise {
BOOST_AUTO_TEST_SUITE(elementwise)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

#define FUNCTION(f, exact, ...)                                                                    \
    {                                                                                              \
        CHALKGRAD_FUNCTION(f), [](long double x) -> long double { return exact; }, { __VA_ARGS__ } \
    }
const std::vector<Function> functions = {FUNCTION(neg, -x, -3, -1, -0.1, 0, 0.1, 0.5, 1, 2, 3, 40, 1e10),
    FUNCTION(exp, std::exp(x), -40, -3, -1, -0.1, 0, 0.1, 0.5, 1, 2, 3, 40),
    FUNCTION(log, std::log(x), 0.011, 0.1, 0.5, 0.9, 1, 1.1, 2, 3, 40, 1e3, 1e10),
    FUNCTION(log1p, std::log1p(x), -0.9, -0.5, -0.1, -1e-2, 0, 0.1, 0.5, 1, 2, 3, 40),
    FUNCTION(sqrt, std::sqrt(x), 0.011, 0.1, 0.5, 0.9, 1, 1.1, 2, 3, 40, 1e3, 1e10),
    FUNCTION(rsqrt, 1 / std::sqrt(x), 0.011, 0.1, 0.5, 0.9, 1, 1.1, 2, 3, 40, 1e3, 1e4),
    FUNCTION(square, x* x, -3, -1, -0.1, 0, 0.1, 0.5, 1, 2, 3, 40, 1e5),
    FUNCTION(reciprocal, 1 / x, -3, -1, -0.1, -0.02, 0.011, 0.1, 0.5, 1, 2, 3, 40),
    FUNCTION(tanh, std::tanh(x), -18, -3, -1, -0.1, 0, 0.1, 0.5, 1, 2, 10, 18),
    FUNCTION(erf, std::erf(x), -4, -3, -1, -0.1, 0, 0.1, 0.5, 1, 2, 3, 5),
    FUNCTION(abs, std::abs(x), -1e10, -3, -1, -0.1, -0.02, 0.011, 0.1, 0.5, 1, 2, 3)};
#undef FUNCTION

const auto d_exp = [](const auto& x) { return exp(x); };
const auto d_log = [](const auto& x) { return log(x); };
const auto d_sqrt = [](const auto& x) { return sqrt(x); };

} // namespace

BOOST_AUTO_TEST_CASE(values_and_slopes_in_every_scalar_and_instruction_set) {
    on_every_isa([] {
        for (const Function& f : functions) {
            BOOST_TEST_CONTEXT(f.name) {
                const std::vector<float> in_float(f.points.begin(), f.points.end());
                const std::vector<long double> in_long_double(f.points.begin(), f.points.end());
                const auto d = run<double>(f.of_double, f.points);
                const auto s = run<float>(f.of_float, in_float);
                const auto l = run<long double>(f.of_long_double, in_long_double);
                for (std::size_t i = 0; i < f.points.size(); ++i) {
                    const long double x = f.points[i], y = f.exact(x);
                    check_near(d.y[i], y, 1e-15);
                    check_near(l.y[i], y, 1e-18);
                    check_near(s.y[i], f.exact(in_float[i]), 4e-7);
                    check_near(d.gx[i], l.gx[i], 1e-14);
                    check_near(s.gx[i], l.gx[i], 4e-6);
                    const long double h = 2e-4L * std::min(1.0L, x == 0 ? 1 : std::abs(x));
                    check_near(l.gx[i], slope(f.exact, x, h), 1e-12, 1e-13 * std::abs(static_cast<double>(y)));
                }
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(special_values) {
    on_every_isa([] {
        const auto at = [](auto f, std::vector<double> x) { return run<double>(f, x); };
        const auto e = at(d_exp, {-inf, inf, quiet_nan, 710, -745.2, 709.5});
        const double want_exp[] = {0, inf, quiet_nan, inf, 0, std::exp(709.5)};
        for (std::size_t i = 0; i < 6; ++i) {
            check_near(e.y[i], want_exp[i], 1e-13, 5e-324);
            check_near(e.gx[i], want_exp[i], 1e-13, 5e-324);
        }
        const auto l = at(d_log, {0, inf, quiet_nan, -1, 1e-310, 1e300});
        const double want_log[] = {-inf, inf, quiet_nan, quiet_nan, std::log(1e-310), std::log(1e300)};
        const double want_log_slope[] = {inf, 0, quiet_nan, -1, inf, 1e-300};
        for (std::size_t i = 0; i < 6; ++i) {
            check_near(l.y[i], want_log[i], 1e-15);
            check_near(l.gx[i], want_log_slope[i], 1e-15);
        }
        const auto s = at(d_sqrt, {0, inf, quiet_nan, 1e-300, 1e300, -1});
        const double want_sqrt[] = {0, inf, quiet_nan, 1e-150, 1e150, quiet_nan},
                     want_sqrt_slope[] = {inf, 0, quiet_nan, 5e149, 5e-151, quiet_nan};
        for (std::size_t i = 0; i < 6; ++i) {
            check_near(s.y[i], want_sqrt[i], 1e-15);
            check_near(s.gx[i], want_sqrt_slope[i], 1e-15);
        }
        const auto t = at([](const auto& x) { return tanh(x); }, {-inf, inf, quiet_nan, 300, -20, 1e300});
        const double want_tanh_slope[] = {0, 0, quiet_nan, 4 * std::exp(-600.0), 4 * std::exp(-40.0), 0};
        for (std::size_t i = 0; i < 6; ++i) check_near(t.gx[i], want_tanh_slope[i], 1e-13);
        const auto a = at([](const auto& x) { return abs(x); }, {0, -0.0, -inf, inf, quiet_nan, -1e-320});
        const double want_abs[] = {0, 0, inf, inf, quiet_nan, 1e-320}, want_abs_slope[] = {0, 0, -1, 1, 0, -1};
        for (std::size_t i = 0; i < 6; ++i) {
            check_near(a.y[i], want_abs[i], 0);
            check_near(a.gx[i], want_abs_slope[i], 0);
        }
    });
}

// −½ y³ and −y² overflow on the way for results that do not.
BOOST_AUTO_TEST_CASE(slopes_of_inverses_far_out) {
    const auto r = run<double>([](const auto& x) { return rsqrt(x); }, {1e-220, 1e300}, {1e-30, 1e200});
    check_near(r.gx[0], -0.5e300, 1e-14);
    check_near(r.gx[1], -0.5e-250, 1e-14);
    const auto q = run<double>([](const auto& x) { return reciprocal(x); }, {1e-200, -1e200}, {1e-150, 1e200});
    check_near(q.gx[0], -1e250, 1e-14);
    check_near(q.gx[1], -1e-200, 1e-14);
}

// G01: a zero cotangent is what `where` sends to the branch it did not take.
BOOST_AUTO_TEST_CASE(a_zero_cotangent_gives_a_zero_gradient_whatever_the_slope) {
    on_every_isa([] {
        for (const Function& f : functions)
            for (const double x : {0.0, -1.0, inf, -inf, quiet_nan}) {
                BOOST_TEST_CONTEXT(f.name << " at " << x) {
                    const auto at = run<double>(f.of_double, {x, x, x, x, x}, {0});
                    for (const double g : at.gx) BOOST_TEST(g == 0);
                }
            }
    });
}

// L = w log x at w = 0: the gradient in x is 0, but its derivative along w is 1/x.
BOOST_AUTO_TEST_CASE(a_zero_cotangent_that_varies_is_not_zero_in_forward_mode) {
    Tape tape;
    const Var<Dual<double>> x = tape.variable(duals({4.0}));
    log(x).backward(duals({{0, 1}}));
    BOOST_TEST(x.grad()(0).v == 0);
    BOOST_TEST(x.grad()(0).d == 0.25);
}

BOOST_AUTO_TEST_CASE(empty_arrays_and_single_numbers) {
    Tape tape;
    const Var<double> none = tape.variable(Array<double>(std::vector<std::size_t>{2, 0}));
    for (const Function& f : functions) BOOST_TEST(f.of_double(none).shape() == (Shape{2, 0}));
    const Var<double> x = tape.variable(4.0);
    const Var<double> y = sqrt(x);
    y.backward();
    BOOST_TEST(y.rank() == 0u);
    BOOST_TEST(x.grad()() == 0.25);
}

// Half computes in float and rounds once: e^11.09 is just below the largest half, 65504.
BOOST_AUTO_TEST_CASE(half_is_rounded_once) {
    const auto h = run<half>(d_exp, {half(11.09f), half(1.0f), half(-20.0f)});
    for (std::size_t i = 0; i < 3; ++i) {
        const float x = static_cast<float>(std::vector<half>{half(11.09f), half(1.0f), half(-20.0f)}[i]);
        BOOST_TEST(static_cast<float>(h.y[i]) == static_cast<float>(half(std::exp(x))));
    }
    const auto b = run<bfloat16>(d_sqrt, {bfloat16(2.0f), bfloat16(1e-30f)});
    BOOST_TEST(static_cast<float>(b.y[0]) == static_cast<float>(bfloat16(std::sqrt(2.0f))));
    BOOST_TEST(
        static_cast<float>(b.y[1]) == static_cast<float>(bfloat16(std::sqrt(static_cast<float>(bfloat16(1e-30f))))));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_elementwise
