// dyisru_b, dyisru_softplus: no square overflows, b down to 0, gradients of b and r.
#include <chalkgrad/ops/norm/dyisru.hpp>

#include "../call.hpp"

namespace test_dyisru {
BOOST_AUTO_TEST_SUITE(dyisru)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

const auto of_b = [](const auto& v) { return dyisru_b(v[0], v[1], input(v, 2), input(v, 3)); };
auto of_r(double floor) {
    return [floor](const auto& v) { return dyisru_softplus(v[0], v[1], input(v, 2), input(v, 3), floor); };
}

} // namespace

// x = 3, b = 16: h = 5, y = 3/5, slope 16/125, ∂y/∂b = −3/250.
BOOST_AUTO_TEST_CASE(three_four_five) {
    on_every_isa([] {
        const auto got = call<double>(of_b, {{3, -3, 0}, Array<double>(16.0), {1, 2, 1}, {0, 0, 7}}, {1, 1, 1});
        check_all(got.y, std::vector{0.6, -1.2, 7.0}, 1e-15);
        check_all(got.g[0], std::vector{16 / 125., 32 / 125., 0.25}, 1e-15);
        check_near(got.g[1][0], -3 / 250. + 6 / 250., 1e-14);
        check_all(got.g[2], std::vector{0.6, -0.6, 0.0}, 1e-15);
        check_all(got.g[3], std::vector{1.0, 1.0, 1.0}, 0);
    });
}

BOOST_AUTO_TEST_CASE(far_out) {
    on_every_isa([] {
        const auto got =
            call<double>(of_b, {{-inf, -1e300, 1e200, inf, quiet_nan}, Array<double>(4.0)}, {1, 1, 1, 1, 0});
        for (std::size_t i = 0; i < 4; ++i) {
            BOOST_TEST(got.y[i] == (i < 2 ? -1 : 1));
            BOOST_TEST(got.g[0][i] == 0);
        }
        BOOST_TEST(std::isnan(got.y[4]));
        // b too small to be squared away: √b = 1e-160 rules where x is 0 or 1e-160.
        const auto tiny = call<double>(of_b, {{0, 1e-160, 1e-150}, Array<double>(1e-320)}, {1, 1, 1});
        const double s = std::sqrt(1e-320);
        check_near(tiny.g[0][0], 1 / s, 1e-14);
        check_near(tiny.y[1], 1e-160 / std::hypot(s, 1e-160), 1e-14);
        BOOST_TEST(tiny.y[2] == 1);
    });
}

// b = 0 is the sign of x.
BOOST_AUTO_TEST_CASE(no_b) {
    on_every_isa([] {
        const auto zero = call<double>(of_b, {{-2, 0, 3}, Array<double>(0.0)}, {1, 1, 1});
        check_all(zero.y, std::vector{-1.0, 0.0, 1.0}, 0);
        check_all(zero.g[0], std::vector{0.0, 0.0, 0.0}, 0);
        BOOST_TEST(std::isnan(call<double>(of_b, {{1}, Array<double>(-2.0)}, {1}).y[0]));
    });
}

// G07: softplus(−40) is 4.2e-18, not 0; at −800 only the floor is left.
BOOST_AUTO_TEST_CASE(softplus_and_floor) {
    on_every_isa([] {
        const double b = 4.248354255291589e-18;
        const auto small = call<double>(of_r(0), {{1e-9}, Array<double>(-40.0)}, {1});
        const double h = std::sqrt(b + 1e-18);
        check_near(small.y[0], 1e-9 / h, 1e-14);
        check_near(small.g[0][0], b / (h * h * h), 1e-14);
        check_near(small.g[1][0], -0.5 * 1e-9 / (h * h * h) * b, 1e-13); // softplus′(−40) = b
        const auto floor = call<double>(of_r(0.25), {{0.5, -0.5}, {-800, 1000}}, {1, 1});
        check_near(floor.y[0], 0.5 / std::sqrt(0.5), 1e-15);
        BOOST_TEST(floor.g[1][0] == 0);
        check_near(floor.g[1][1], 0.25 / std::pow(1000.5, 1.5), 1e-14);
    });
}

BOOST_AUTO_TEST_CASE(scalars_agree) {
    const std::vector<Array<double>> inputs = {
        {{1, -2, 0.5, 1e-8}, {0.1, 3, -1, 9}}, {0.3, 1, 2, 4}, {1, -2, 3, 0.5}, {4, 5, 6, 7}};
    const std::vector<double> gy = {1, 2, -1, 0.5, 3, -2, 1, 2};
    check_scalars_agree(of_b, inputs, gy, 2e-6);
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>({{1, 2, 3}})), number = tape.variable(0.5),
                      two = tape.variable(Array<double>{1, 2});
    const Var<double> none;
    check_refused(tape, "dyisru_b", [&] { return dyisru_b(number, number); });
    check_refused(tape, "dyisru_b", [&] { return dyisru_b(x, two); });
    check_refused(tape, "dyisru_b", [&] { return dyisru_b(x, number, two); });
    check_refused(tape, "dyisru_softplus", [&] { return dyisru_softplus(x, number, none, two); });
    for (const double floor : {-1e-6, inf, quiet_nan})
        check_refused(tape, "dyisru_softplus", [&] { return dyisru_softplus(x, number, none, none, floor); });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_dyisru
