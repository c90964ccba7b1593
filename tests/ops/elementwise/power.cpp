// pow with a constant exponent: corners at 0, negative bases, refusals.
#include "unary.hpp"

#include <chalkgrad/ops/elementwise/elementwise.hpp>

namespace test_power {
BOOST_AUTO_TEST_SUITE(power)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {
auto to_the(double exponent) {
    return [=](const auto& x) { return pow(x, exponent); };
}
} // namespace

BOOST_AUTO_TEST_CASE(values_and_slopes) {
    on_every_isa([] {
        for (const double p : {2.0, 3.0, 1.0, -1.0, 0.5, -2.5}) {
            const std::vector<double> x = {0.1, 0.5, 1, 1.5, 2, 3, 10, 1e3, 1e-3, 7, 0.9};
            const auto d = run<double>(to_the(p), x);
            const auto f = run<float>(to_the(p), std::vector<float>(x.begin(), x.end()));
            const auto l = run<long double>(to_the(p), std::vector<long double>(x.begin(), x.end()));
            for (std::size_t i = 0; i < x.size(); ++i) {
                check_near(d.y[i], std::pow(x[i], p), 1e-15);
                check_near(d.gx[i], p * std::pow(x[i], p - 1), 1e-15);
                check_near(
                    l.gx[i], p * std::pow(static_cast<long double>(x[i]), static_cast<long double>(p) - 1), 1e-18);
                check_near(f.y[i], d.y[i], 1e-6);
                check_near(f.gx[i], d.gx[i], 1e-6);
            }
        }
    });
}

// N01: no log x, and no division by x.
BOOST_AUTO_TEST_CASE(corners) {
    const auto check = [](double p, const std::vector<double>& x, const std::vector<double>& y,
                           const std::vector<double>& g) {
        on_every_isa([&] {
            const auto r = run<double>(to_the(p), x);
            for (std::size_t i = 0; i < x.size(); ++i) {
                BOOST_TEST_CONTEXT(x[i] << " to the " << p) {
                    check_near(r.y[i], y[i], 1e-15);
                    check_near(r.gx[i], g[i], 1e-15);
                }
            }
        });
    };
    check(0, {0, -2, 3, quiet_nan, inf}, {1, 1, 1, 1, 1}, {0, 0, 0, 0, 0});
    check(1, {0, -2, 3, -inf}, {0, -2, 3, -inf}, {1, 1, 1, 1});
    check(0.5, {0, -2, 3, -1}, {0, quiet_nan, std::sqrt(3.0), quiet_nan},
        {inf, quiet_nan, 0.2886751345948129, quiet_nan});
    check(2, {0, -2, 3, inf, quiet_nan}, {0, 4, 9, inf, quiet_nan}, {0, -4, 6, inf, quiet_nan});
    check(3, {0, -2, 3}, {0, -8, 27}, {0, 12, 27});
    check(-1, {0, -2, 3}, {inf, -0.5, 1 / 3.0}, {-inf, -0.25, -0.1111111111111111});
}

// G01: no 0·inf.
BOOST_AUTO_TEST_CASE(a_zero_cotangent_gives_zero) {
    for (const double p : {0.5, -1.0, 2.0}) {
        const auto at = run<double>(to_the(p), {0, inf, quiet_nan, -1}, {0});
        for (const double g : at.gx) BOOST_TEST(g == 0);
    }
}

BOOST_AUTO_TEST_CASE(refuses_exponents_that_are_not_finite) {
    Tape tape;
    const Var<double> x = tape.variable(2.0);
    for (const double p : {quiet_nan, inf, -inf}) BOOST_CHECK_THROW(chalkgrad::pow(x, p), Error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_power
