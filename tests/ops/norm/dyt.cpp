// dyt: tails of tanh, infinities, one α for all elements, optional gain and bias.
#include <chalkgrad/ops/norm/dyt.hpp>

#include "../call.hpp"

namespace test_dyt {
BOOST_AUTO_TEST_SUITE(dyt)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

const auto layer = [](const auto& v) { return chalkgrad::dyt(v[0], v[1], input(v, 2), input(v, 3)); };

} // namespace

// From 19 on 1 − tanh² is 0; sech² is not before 373.
BOOST_AUTO_TEST_CASE(far_out) {
    on_every_isa([] {
        const auto got = call<double>(
            layer, {{-inf, -1e300, -40, 0, 40, 1e300, inf}, Array<double>(0.5)}, std::vector<double>(7, 1));
        check_all(got.y, std::vector{-1.0, -1.0, -1.0, 0.0, 1.0, 1.0, 1.0}, 1e-15);
        const double slope = 0.5 * 4 * std::exp(-40.0) / std::pow(1 + std::exp(-40.0), 2);
        const std::vector expected = {0.0, 0.0, slope, 0.5, slope, 0.0, 0.0};
        for (std::size_t i = 0; i < 7; ++i) check_near(got.g[0][i], expected[i], 1e-14);
        check_near(got.g[1][0], 0, 0, 1e-20); // odd in x
    });
}

BOOST_AUTO_TEST_CASE(sums_of_the_parameters) {
    on_every_isa([] {
        const Array<double> x = {{1, -2, 0.5}, {0.1, 3, -1}};
        const std::vector<double> gy = {1, 2, -1, 0.5, 3, -2};
        const auto got = call<double>(layer, {x, Array<double>(0.7), {1, -2, 3}, {4, 5, 6}}, gy);
        double galpha = 0;
        for (std::size_t i = 0; i < 6; ++i) {
            const double z = 0.7 * x.data()[i], t = std::tanh(z), gamma = std::vector{1., -2., 3.}[i % 3];
            check_near(got.y[i], gamma * t + 4 + static_cast<double>(i % 3), 1e-15);
            galpha += gy[i] * gamma * (1 - t * t) * x.data()[i];
            if (i < 3) {
                check_near(got.g[2][i], gy[i] * t + gy[i + 3] * std::tanh(0.7 * x.data()[i + 3]), 1e-14);
                check_near(got.g[3][i], gy[i] + gy[i + 3], 1e-15);
            }
        }
        check_near(got.g[1][0], galpha, 1e-14);
        const auto plain = call<double>(layer, {x, Array<double>(0.7)}, gy);
        const auto ones = call<double>(layer, {x, Array<double>(0.7), Array<double>(1.0), Array<double>(0.0)}, gy);
        check_all(plain.y, ones.y, 0);
        check_all(plain.g[0], ones.g[0], 0);
        check_near(ones.g[3][0], 3.5, 1e-15);
    });
}

BOOST_AUTO_TEST_CASE(scalars_agree) {
    const std::vector<Array<double>> inputs = {
        {{1, -2, 0.5, 1e-8}, {0.1, 3, -1, 9}}, Array<double>(0.7), {1, -2, 3, 0.5}, {4, 5, 6, 7}};
    const std::vector<double> gy = {1, 2, -1, 0.5, 3, -2, 1, 2};
    check_scalars_agree(layer, inputs, gy, 1e-6);
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>({{1, 2, 3}})), number = tape.variable(0.5),
                      two = tape.variable(Array<double>{1, 2});
    check_refused(tape, "dyt", [&] { return chalkgrad::dyt(number, number); });
    check_refused(tape, "dyt", [&] { return chalkgrad::dyt(x, two); });
    check_refused(tape, "dyt", [&] { return chalkgrad::dyt(x, number, two); });
    check_refused(tape, "dyt", [&] { return chalkgrad::dyt(x, number, number, two); });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_dyt
