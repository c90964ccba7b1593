// Activation functions: tails where the textbook forms cancel or overflow, limits at infinity, the convention at 0.
#include "unary.hpp"

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>

namespace test_activations {
BOOST_AUTO_TEST_SUITE(activations)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

const std::vector<Function> functions = {{CHALKGRAD_FUNCTION(relu)}, {CHALKGRAD_FUNCTION(sigmoid)},
    {CHALKGRAD_FUNCTION(softplus)}, {CHALKGRAD_FUNCTION(silu)}, {CHALKGRAD_FUNCTION(gelu_erf)},
    {CHALKGRAD_FUNCTION(gelu_tanh)}, {CHALKGRAD_FUNCTION(quick_gelu)}};

const Function& find(const std::string& name) {
    for (const Function& f : functions)
        if (f.name == name) return f;
    throw std::logic_error(name);
}

void check_points(const std::string& name, const std::vector<double>& x, const std::vector<double>& y,
    const std::vector<double>& slope, double relative, double absolute = 0) {
    on_every_isa([&] {
        const auto got = run<double>(find(name).of_double, x);
        for (std::size_t i = 0; i < x.size(); ++i) {
            BOOST_TEST_CONTEXT(name << " at " << x[i]) {
                check_near(got.y[i], y[i], relative, absolute);
                check_near(got.gx[i], slope[i], relative, absolute);
            }
        }
    });
}

} // namespace

// G06: −745 is within an absolute error of 5e-321, as the case allows.
BOOST_AUTO_TEST_CASE(silu_far_out) {
    check_points("silu", {-745, -709, -40, -1e-8, 0, 40, 800},
        {-2.1026512942e-321, -8.62697552192007e-306, -1.6993417021166355e-16, -4.9999999750000005e-09, 0, 40, 800},
        {-2.09982894347e-321, -8.614807714413836e-306, -1.6568581595637197e-16, 0.499999995, 0.5, 1.0000000000000002,
            1},
        1e-12, 5e-321);
}

// G07
BOOST_AUTO_TEST_CASE(softplus_far_out) {
    check_points("softplus", {-800, -40, -1e-9, 0, 35, 1000},
        {0, 4.248354255291589e-18, 0.6931471800599454, 0.6931471805599453, 35, 1000},
        {0, 4.248354255291589e-18, 0.49999999975, 0.5, 0.9999999999999993, 1}, 1e-12, 1e-320);
    check_points("softplus", {25}, {25.000000000013888}, {0.99999999998611211}, 1e-15); // where others turn linear
}

// G34: three functions called GELU.
BOOST_AUTO_TEST_CASE(three_gelus) {
    const std::vector<double> x = {-3, -0.5, 0, 1.2, 4};
    check_points("gelu_erf", x,
        {-0.0040496940948902835, -0.15426876936299344, 0, 1.0619163957339501, 3.9998733150326675},
        {-0.011945647204183927, 0.13250487534383715, 0.5, 1.1179535957581472, 1.0005036496612265}, 1e-12);
    check_points("gelu_tanh", x,
        {-0.003637392081773019, -0.15428599017485609, 0, 1.0617027691378649, 3.9999297540518075},
        {-0.011584166630969726, 0.1326300964653577, 0.5, 1.1177261347331127, 1.0003351231971227}, 1e-12);
    check_points("quick_gelu", x,
        {-0.018071309707785966, -0.1496115633936199, 0, 1.0622129107018081, 3.995585275860419},
        {-0.02454832390565235, 0.12077808803458573, 0.5, 1.092763593299271, 1.006401886545355}, 1e-12);
}

// G20: values and cotangents that are transposed views are laid out anew, row by row.
BOOST_AUTO_TEST_CASE(sigmoid_of_a_transposed_array) {
    Array<double> x5x3(std::vector<std::size_t>{5, 3}), w5x3(std::vector<std::size_t>{5, 3});
    for (std::size_t j = 0; j < 5; ++j)
        for (std::size_t i = 0; i < 3; ++i) {
            x5x3(j, i) = -0.7 + 0.1 * static_cast<double>(i + 3 * j);
            w5x3(j, i) = static_cast<double>(i + 10 * j);
        }
    Tape tape;
    const Var<double> x = tape.variable(xt::transpose(x5x3));
    sigmoid(x).backward(Array<double>(xt::transpose(w5x3)));
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 5; ++j) {
            const double s = 1 / (1 + std::exp(-x5x3(j, i)));
            check_near(x.grad()(i, j), s * (1 - s) * w5x3(j, i), 1e-14);
        }
}

// L = Σ silu(x) x, one thread of G46.
BOOST_AUTO_TEST_CASE(silu_times_x) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>{0.1, -1, 2});
    const Var<double> y = silu(x) * x;
    y.backward(Array<double>{1, 1, 1});
    check_near(y.value()(0) + y.value()(1) + y.value()(2), 3.7973795251563143, 1e-13);
    check_near(x.grad()(0), 0.10748959789771692, 1e-13);
}

BOOST_AUTO_TEST_CASE(limits_at_infinity) {
    for (const char* gate : {"silu", "gelu_erf", "gelu_tanh", "quick_gelu"}) {
        check_points(gate, {-inf, inf, quiet_nan, -1e300, 1e300, -1e5, 1e5},
            {-0.0, inf, quiet_nan, -0.0, 1e300, -0.0, 1e5}, {0, 1, quiet_nan, 0, 1, 0, 1}, 0);
        on_every_isa([&] {
            BOOST_TEST(std::signbit(run<double>(find(gate).of_double, {-inf, -1e300, -1, -1, -1}).y[0]));
        });
    }
    check_points(
        "relu", {-inf, inf, quiet_nan, 0, -0.0}, {0, inf, quiet_nan, 0, 0}, {0, 1, 0, 0, 0}, 0); // G17: slope 0 at 0
    check_points("sigmoid", {-inf, inf, quiet_nan, 1000}, {0, 1, quiet_nan, 1}, {0, 0, quiet_nan, 0}, 0);
    check_points("softplus", {-inf, inf, quiet_nan}, {0, inf, quiet_nan}, {0, 1, quiet_nan}, 0);
}

// N03: s (1 − s) and 1 − tanh² are 0 where the slope is still an ordinary number; the same on both sides.
BOOST_AUTO_TEST_CASE(slopes_in_the_tails) {
    const std::vector<double> x = {16.75, 30, 36.9, 40, 100, 700};
    const std::vector<double> slope = {5.3157846892730093e-08, 9.3576229688384233e-14, 9.4304760785268060e-17,
        4.2483542552915896e-18, 3.7200759760208356e-44, 9.8596765437597708e-305};
    on_every_isa([&] {
        for (std::size_t i = 0; i < x.size(); ++i)
            for (const double sign : {-1., 1.}) {
                const auto of_tanh = [](const auto& v) { return tanh(v); };
                check_near(run<double>(find("sigmoid").of_double, {sign * x[i]}).gx[0], slope[i], 1e-14);
                check_near(run<double>(of_tanh, {sign * x[i] / 2}).gx[0], 4 * slope[i], 1e-14);
                const float in_float = static_cast<float>(sign * x[i]); // e⁻⁷⁰⁰ is 0 in float
                const long double e = std::exp(-std::abs(static_cast<long double>(in_float)));
                check_near(
                    run<float>(find("sigmoid").of_float, {in_float}).gx[0], e / ((1 + e) * (1 + e)), 1e-6, 1e-45);
            }
    });
}

// Where 1 − y or 1 + erf would have cancelled; digits from 50-digit arithmetic.
BOOST_AUTO_TEST_CASE(tails_keep_their_digits) {
    check_points("sigmoid", {-700, 40, -40}, {9.859676543759770e-305, 1, 4.248354255291589e-18},
        {9.859676543759770e-305, 4.248354255291589e-18, 4.248354255291589e-18}, 1e-14);
    const double k = 0.79788456080286535588;
    for (const double x : {-6.0, -10.0}) {
        const double phi = std::exp(-x * x / 2) * 0.39894228040143267794,
                     cdf = 0.5 * std::erfc(-x * 0.70710678118654752440);
        check_points("gelu_erf", {x}, {x * cdf}, {cdf + x * phi}, 1e-13);
        const double e = std::exp(2 * k * (x + 0.044715 * x * x * x)); // σ(2u) = e/(1 + e)
        check_points("gelu_tanh", {x}, {x * e / (1 + e)},
            {e / (1 + e) * (1 + 2 * x * k * (1 + 0.134145 * x * x) / (1 + e))}, 1e-13);
    }
    check_points("gelu_erf", {-30}, {-30 * 4.906713927148187e-198},
        {4.906713927148187e-198 - 30 * 1.4736461348785476e-196}, 2e-13);
}

BOOST_AUTO_TEST_CASE(scalars_and_instruction_sets_agree) {
    std::vector<double> x; // none on relu's kink, 2·4 + 3 in the last row of vectors
    for (int i = -55; i < 56; ++i) x.push_back(0.11 * i + 0.013);
    const std::vector<float> in_float(x.begin(), x.end());
    const std::vector<long double> in_long_double(x.begin(), x.end());
    on_every_isa([&] {
        for (const Function& f : functions) {
            BOOST_TEST_CONTEXT(f.name) {
                const auto d = run<double>(f.of_double, x);
                const auto s = run<float>(f.of_float, in_float);
                const auto l = run<long double>(f.of_long_double, in_long_double);
                for (std::size_t i = 0; i < x.size(); ++i) {
                    check_near(d.y[i], l.y[i], 4e-15);
                    check_near(d.gx[i], l.gx[i], 1e-14, 1e-15);
                    check_near(s.y[i], l.y[i], 1e-5, 1e-9);
                    check_near(s.gx[i], l.gx[i], 1e-5, 1e-6);
                }
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(quick_gelu_refuses_a_useless_alpha) {
    Tape tape;
    const Var<double> x = tape.variable(1.0);
    for (const double alpha : {0.0, -1.702, inf, quiet_nan}) BOOST_CHECK_THROW(quick_gelu(x, alpha), Error);
}

BOOST_AUTO_TEST_CASE(half_and_bfloat16_are_rounded_once) {
    const float x = static_cast<float>(half(-4.1f));
    const auto h = run<half>([](const auto& v) { return silu(v); }, {half(-4.1f)});
    BOOST_TEST(static_cast<float>(h.y[0]) == static_cast<float>(half(x / (1 + std::exp(-x)))));
    const float z = static_cast<float>(bfloat16(0.3f));
    const auto b = run<bfloat16>([](const auto& v) { return gelu_erf(v); }, {bfloat16(0.3f)});
    BOOST_TEST(static_cast<float>(b.y[0]) == static_cast<float>(bfloat16(0.5f * z * std::erfc(-z * 0.70710678f))));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_activations
