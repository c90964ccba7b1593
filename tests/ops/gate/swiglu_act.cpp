// swiglu_act, gpt_oss_packed, reglu, geglu: limits, tails, ends of the axis, what a missing limit means.
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>

#include "../call.hpp"

namespace test_swiglu_act {
BOOST_AUTO_TEST_SUITE(swiglu_act)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

auto act(const SwigluOptions& options) {
    return [options](const auto& v) { return chalkgrad::swiglu_act(v[0], v[1], options); };
}
const auto reglu_of = [](const auto& v) { return reglu(v[0], v[1]); };
const auto geglu_of = [](const auto& v) { return geglu(v[0], v[1]); };

} // namespace

// G33
BOOST_AUTO_TEST_CASE(gate_clamped_above_up_on_both_sides) {
    on_every_isa([] {
        const Array<double> z = {-9.0, -6.5, -1.0, 0.0, 6.5, 9.0};
        const auto got = call<double>(act(gpt_oss_gate), {z, z}, std::vector<double>(6, 1));
        const std::vector y = {
            1.2019067919351055e-05, 0.0005606210265626604, 0.0, 0.0, 48.74923551678196, 55.999625026426536};
        const std::vector gg = {1.912099705459454e-05, 0.0008679126353837256, 0.0, 0.5, 7.501183517230069, 0.0};
        const std::vector gu = {0.0, -0.00010193109573866553, -0.1542042340671787, 0.0, 6.499898068904261, 0.0};
        for (std::size_t i = 0; i < 6; ++i) {
            check_near(got.y[i], y[i], 1e-14);
            check_near(got.g[0][i], gg[i], 1e-14);
            check_near(got.g[1][i], gu[i], 1e-14);
        }
        const auto limit = call<double>(act(gpt_oss_gate), {{7, 9}, {7, 9}}, {1, 1});
        BOOST_TEST(limit.y[0] == limit.y[1]);
    });
}

// G04's rule: exactly at a limit the slope is that of the inner side, and gradcheck says kink.
BOOST_AUTO_TEST_CASE(at_the_limits) {
    on_every_isa([] {
        const auto got = call<double>(act(gpt_oss_gate), {{7, std::nextafter(7, 8)}, {7, -7}}, {1, 1});
        check_near(got.g[0][0], 8.000584633, 1e-9);
        check_near(got.g[1][0], 6.999953128, 1e-9);
        BOOST_TEST(got.g[0][1] == 0);
        check_near(got.g[1][1], 6.999953128, 1e-9);
        BOOST_TEST(call<double>(act(gpt_oss_gate), {{1}, {std::nextafter(-7, -8)}}, {1}).g[1][0] == 0);
    });
    const auto verdict = [](double g, double u) {
        return gradcheck([](const auto& v) { return chalkgrad::swiglu_act(v[0], v[1], gpt_oss_gate); },
            {Array<double>{g}, Array<double>{u}}, {.blind_spots = false})
            .verdict;
    };
    BOOST_TEST((verdict(7, 1) == Verdict::kink));
    BOOST_TEST((verdict(1, -7) == Verdict::kink));
    BOOST_TEST((verdict(-7, 1) == Verdict::pass)); // the gate has no lower limit
}

// No limit is no clamp; not 0, and not a large number.
BOOST_AUTO_TEST_CASE(ends_of_the_axis) {
    on_every_isa([] {
        const Array<double> g = {-inf, -1e300, -745, -709, 709, 1e300, inf, quiet_nan},
                            one(std::vector<std::size_t>{8}, 1.0);
        const auto plain = call<double>(act({}), {g, one}, std::vector<double>(8, 1));
        check_near(plain.y[2], -2.1026512942e-321, 0, 5e-321);
        check_near(plain.y[3], -8.62697552192007e-306, 1e-13);
        check_near(plain.g[0][3], -8.614807714413836e-306, 1e-13);
        const std::vector y = {0.0, 0.0, 709.0, 1e300, inf}, slope = {0.0, 0.0, 1.0, 1.0, 1.0};
        const std::size_t places[] = {0, 1, 4, 5, 6};
        for (std::size_t k = 0; k < 5; ++k) {
            BOOST_TEST(plain.y[places[k]] == y[k]);
            BOOST_TEST(plain.g[0][places[k]] == slope[k]);
            BOOST_TEST(plain.g[1][places[k]] == y[k]);
        }
        BOOST_TEST(std::signbit(plain.y[0]));
        BOOST_TEST(std::isnan(plain.y[7]));
        BOOST_TEST(std::isnan(plain.g[0][7]));
        // α < 0 turns the gate round.
        const auto turned = call<double>(act({.alpha = -1}), {{-inf, inf}, {1, 1}}, {1, 1});
        BOOST_TEST(turned.y[0] == -inf);
        BOOST_TEST(turned.y[1] == 0);
        BOOST_TEST(turned.g[0][0] == 1);
        BOOST_TEST(turned.g[0][1] == 0);
        const auto clamped = call<double>(act(gpt_oss_gate), {g, one}, std::vector<double>(8, 1));
        BOOST_TEST(clamped.y[6] == clamped.y[4]);
        BOOST_TEST(clamped.g[0][6] == 0);
        BOOST_TEST(std::isnan(clamped.y[7]));
        BOOST_TEST(clamped.g[0][7] == 0); // NaN is not inside a limit
    });
}

// φ with −α is φ turned round: −φ(−z). With limits too, and beyond the ends.
BOOST_AUTO_TEST_CASE(negative_alpha) {
    on_every_isa([] {
        const Array<double> g = {-inf, -800, -3, -0.5, 0.5, 3, 6.5}, u = {0.5, 2, -1, 3, 1, -2, 0.25};
        const std::vector<double> gy = {1, 2, -1, 0.5, 3, -2, 1};
        const auto got = call<double>(act({-1.3, 7, 7, 0}), {g, u}, gy);
        Array<double> mirrored = g;
        for (double& v : mirrored) v = -v;
        const auto mirror = call<double>(act({.alpha = 1.3}), {mirrored, u}, gy);
        for (std::size_t i = 0; i < g.size(); ++i) {
            check_near(got.y[i], -mirror.y[i], 1e-15);
            check_near(got.g[0][i], mirror.g[0][i], 1e-15);
            check_near(got.g[1][i], -mirror.g[1][i], 1e-15);
        }
        BOOST_TEST(call<double>(act({-1.3, {}, 7, 0}), {{inf}, {1}}, {1}).y[0] == 0);
    });
}

// A slope of inf or NaN does not come back where nobody asked for it.
BOOST_AUTO_TEST_CASE(zero_cotangent) {
    const auto got = call<double>(act({}), {{1, quiet_nan, 1}, {inf, 1, quiet_nan}}, {0, 0, 0});
    for (const auto& g : got.g)
        for (const double v : g) BOOST_TEST(v == 0);
}

BOOST_AUTO_TEST_CASE(packed_is_interleaved) {
    on_every_isa([] {
        const Array<double> g = {{1, -2, 3, 9}, {0.5, -9, 7.5, 0}}, u = {{2, 8, -1, 1}, {-8, 0.5, 3, 4}};
        Array<double> p(std::vector<std::size_t>{2, 8});
        for (std::size_t i = 0; i < 8; ++i) {
            p.data()[2 * i] = g.data()[i];
            p.data()[2 * i + 1] = u.data()[i];
        }
        const std::vector<double> gy = {1, 2, -1, 0.5, 3, -2, 1, 1};
        const auto apart = call<double>(act(gpt_oss_gate), {g, u}, gy);
        const auto packed = call<double>([](const auto& v) { return gpt_oss_packed(v[0]); }, {p}, gy);
        check_all(packed.y, apart.y, 1e-15);
        for (std::size_t i = 0; i < 8; ++i) {
            check_near(packed.g[0][2 * i], apart.g[0][i], 1e-14, 1e-16);
            check_near(packed.g[0][2 * i + 1], apart.g[1][i], 1e-14, 1e-16);
        }
    });
}

BOOST_AUTO_TEST_CASE(relu_and_gelu_gates) {
    on_every_isa([] {
        const Array<double> g = {-inf, -30, -1, 0, 1, inf, quiet_nan}, u = {2, 2, 2, 2, 2, 2, 2};
        const auto r = call<double>(reglu_of, {g, u}, std::vector<double>(7, 1));
        const std::vector y = {0.0, 0.0, 0.0, 0.0, 2.0, inf, quiet_nan}, slope = {0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 0.0};
        for (std::size_t i = 0; i < 7; ++i) {
            check_near(r.y[i], y[i], 0);
            check_near(r.g[0][i], slope[i], 0);
            check_near(r.g[1][i], y[i] / 2, 0);
        }
        const auto e = call<double>(geglu_of, {g, u}, std::vector<double>(7, 1));
        BOOST_TEST(e.y[0] == 0);
        BOOST_TEST(e.g[0][0] == 0);
        check_near(e.y[1], -2 * 30 * 0.5 * std::erfc(30 / std::sqrt(2.0)), 1e-12); // 1 + erf would give 0
        check_near(e.y[4], 2 * 0.8413447460685429, 1e-14);
        check_near(e.g[0][4], 2 * (0.8413447460685429 + 0.24197072451914337), 1e-14);
        check_near(e.g[1][4], 0.8413447460685429, 1e-14);
        BOOST_TEST(e.y[5] == inf);
        BOOST_TEST(e.g[0][5] == 2);
        BOOST_TEST(std::isnan(e.y[6]));
    });
    const auto of_two = [](const auto& v) { return reglu(v[0], v[1]); };
    BOOST_TEST((gradcheck(of_two, {Array<double>{0, 1, -1}, Array<double>{2, 3, 4}}).verdict == Verdict::kink));
}

// Half is widened: 1000 · σ · 60 fits float, and is rounded once.
BOOST_AUTO_TEST_CASE(other_scalars) {
    const Array<double> g = {{-6, -2.5, -0.5, 0.25}, {1, 2.2, 6, 8}}, u = {{1, 7.5, -7.5, 2}, {-3, 0.1, 5, 1}};
    const std::vector<double> gy = {1, 2, -1, 0.5, 3, -2, 1, 1};
    for (const SwigluOptions& options : {SwigluOptions{}, gpt_oss_gate})
        check_scalars_agree(act(options), {g, u}, gy, 1e-6);
    Tape tape;
    const Var<half> y =
        chalkgrad::swiglu_act(tape.variable(converted<half>(g)), tape.variable(converted<half>(u)), gpt_oss_gate);
    const auto wide = call<float>(act(gpt_oss_gate),
        {converted<float>(converted<half>(g)), converted<float>(converted<half>(u))}, converted<float>(gy));
    for (std::size_t i = 0; i < 8; ++i)
        BOOST_TEST(static_cast<float>(y.data()[i]) == static_cast<float>(static_cast<half>(wide.y[i])));
}

// Only one gradient is wanted, or the arrays are empty.
BOOST_AUTO_TEST_CASE(constants_and_nothing) {
    Tape tape;
    const Var<double> g = tape.constant(Array<double>{1, 2}), u = tape.variable(Array<double>{3, 4});
    chalkgrad::swiglu_act(g, u).backward(Array<double>{1, 1});
    check_near(u.grad()(1), 2 / (1 + std::exp(-2.0)), 1e-15);
    reglu(u, g).backward(Array<double>{1, 1});
    BOOST_TEST(!g.has_grad());
    const Array<double> nothing(std::vector<std::size_t>{2, 0});
    BOOST_TEST(gpt_oss_packed(tape.variable(nothing)).shape() == Shape({2, 0}));
    BOOST_TEST(geglu(tape.variable(nothing), tape.variable(nothing)).size() == 0u);
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> g = tape.variable(Array<double>({{1, 2, 3}, {4, 5, 6}})),
                      row = tape.variable(Array<double>{1, 2, 3});
    const Var<double> pair = tape.variable(Array<double>{1, 2});
    check_refused(tape, "swiglu_act", [&] { return chalkgrad::swiglu_act(g, row); });
    check_refused(tape, "reglu", [&] { return reglu(row, g); });
    check_refused(tape, "geglu", [&] { return geglu(g, row); });
    for (const double bad : {inf, -inf, quiet_nan}) {
        check_refused(tape, "swiglu_act", [&] { return chalkgrad::swiglu_act(g, g, {.alpha = bad}); });
        check_refused(tape, "swiglu_act", [&] { return chalkgrad::swiglu_act(g, g, {.shift_up = bad}); });
        check_refused(tape, "gpt_oss_packed", [&] { return gpt_oss_packed(pair, bad); });
    }
    for (const double bad : {0.0, -7.0, inf, quiet_nan}) {
        check_refused(tape, "swiglu_act", [&] { return chalkgrad::swiglu_act(g, g, {.gate_limit = bad}); });
        check_refused(tape, "swiglu_act", [&] { return chalkgrad::swiglu_act(g, g, {.up_limit = bad}); });
    }
    check_refused(tape, "gpt_oss_packed", [&] { return gpt_oss_packed(row); });
    const Var<double> number = tape.variable(1.0);
    check_refused(tape, "gpt_oss_packed", [&] { return gpt_oss_packed(number); });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_swiglu_act
