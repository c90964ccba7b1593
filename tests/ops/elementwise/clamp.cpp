// clamp: the slope exactly at a limit, open sides, NaN, refusals.
#include "unary.hpp"

#include <chalkgrad/ops/elementwise/elementwise.hpp>

namespace test_clamp {
BOOST_AUTO_TEST_SUITE(clamp)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {
auto clamped(std::optional<double> min, std::optional<double> max) {
    return [=](const auto& x) { return chalkgrad::clamp(x, min, max); };
}
} // namespace

// G04: 1 at a limit, by the convention of all clamps here.
BOOST_AUTO_TEST_CASE(both_limits_belong_to_the_inside) {
    on_every_isa([] {
        const auto r = run<double>(clamped(-1.5, 2.5), {-9, -1.5, 0.25, 2.5, 3}, {7});
        const double y[] = {-1.5, -1.5, 0.25, 2.5, 2.5}, g[] = {0, 7, 7, 7, 0};
        for (std::size_t i = 0; i < 5; ++i) {
            BOOST_TEST(r.y[i] == y[i]);
            BOOST_TEST(r.gx[i] == g[i]);
        }
    });
}

BOOST_AUTO_TEST_CASE(forward_mode_has_the_same_convention) {
    Tape tape;
    const Array<Dual<double>> x = duals({{-1.5, 1}, {2.5, 1}, {2.6, 1}, {-1.6, 1}, {0, 1}});
    const Var<Dual<double>> y = chalkgrad::clamp(tape.variable(x), -1.5, 2.5);
    const double d[] = {1, 1, 0, 0, 1};
    for (std::size_t i = 0; i < 5; ++i) BOOST_TEST(y.value()(i).d == d[i]);
}

BOOST_AUTO_TEST_CASE(open_sides_and_special_values) {
    on_every_isa([] {
        const std::vector<double> x = {-inf, -8, 7, 8, inf, quiet_nan};
        const auto above = run<double>(clamped({}, 7), x), below = run<double>(clamped(-7, {}), x),
                   open = run<double>(clamped({}, {}), x);
        const double y_above[] = {-inf, -8, 7, 7, 7, quiet_nan}, g_above[] = {1, 1, 1, 0, 0, 0};
        const double y_below[] = {-7, -7, 7, 8, inf, quiet_nan}, g_below[] = {0, 0, 1, 1, 1, 0};
        for (std::size_t i = 0; i < 6; ++i) {
            check_near(above.y[i], y_above[i], 0);
            check_near(above.gx[i], g_above[i], 0);
            check_near(below.y[i], y_below[i], 0);
            check_near(below.gx[i], g_below[i], 0);
            check_near(open.y[i], x[i], 0);
            check_near(open.gx[i], std::isnan(x[i]) ? 0.0 : 1.0, 0);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_limit_is_the_float_nearest_to_it) {
    const auto r = run<float>(clamped(-0.1, 0.1), {0.1f, -0.1f, 0.11f, 0.0f, -1.0f});
    const float y[] = {0.1f, -0.1f, 0.1f, 0.0f, -0.1f}, g[] = {1, 1, 0, 1, 0};
    for (std::size_t i = 0; i < 5; ++i) {
        BOOST_TEST(r.y[i] == y[i]);
        BOOST_TEST(r.gx[i] == g[i]);
    }
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> x = tape.variable(1.0);
    BOOST_CHECK_THROW(chalkgrad::clamp(x, quiet_nan, 1), Error);
    BOOST_CHECK_THROW(chalkgrad::clamp(x, {}, quiet_nan), Error);
    BOOST_CHECK_THROW(chalkgrad::clamp(x, 2, 1), Error);
    BOOST_CHECK_THROW(chalkgrad::clamp(x, inf, {}), Error);
    BOOST_TEST(tape.size() == 1u);
    BOOST_TEST(chalkgrad::clamp(x, 2, 2).item() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_clamp
