// softcap: bounded for every score, its slope right where the cap bites.
#include "unary.hpp"

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/elementwise/softcap.hpp>

namespace test_softcap {
BOOST_AUTO_TEST_SUITE(softcap)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {
const auto cap_5 = [](const auto& s) { return chalkgrad::softcap(s, 5); };
} // namespace

BOOST_AUTO_TEST_CASE(values_and_slopes) {
    on_every_isa([] {
        const std::vector<double> s = {-inf, -1e300, -50, -7, -1e-12, 0, 1e-300, 3, 100, inf, quiet_nan};
        const auto r = run<double>(cap_5, s);
        for (std::size_t i = 0; i < s.size(); ++i) {
            BOOST_TEST_CONTEXT("s = " << s[i]) {
                const double cosh = std::cosh(s[i] / 5);
                check_near(r.y[i], 5 * std::tanh(s[i] / 5), 1e-15);
                check_near(r.gx[i], std::isnan(s[i]) ? quiet_nan : 1 / (cosh * cosh), 1e-13);
            }
        }
    });
}

// What G10 warns of: a mask applied before the cap comes back as a finite score.
BOOST_AUTO_TEST_CASE(a_mask_does_not_survive_the_cap) { BOOST_TEST(run<double>(cap_5, {-inf}).y[0] == -5); }

BOOST_AUTO_TEST_CASE(scalars_agree) {
    const std::vector<double> s = {-40, -6, -1, -0.3, 0.2, 1, 2, 5, 9, 17, 60};
    const auto d = run<double>(cap_5, s);
    const auto f = run<float>(cap_5, std::vector<float>(s.begin(), s.end()));
    const auto l = run<long double>(cap_5, std::vector<long double>(s.begin(), s.end()));
    for (std::size_t i = 0; i < s.size(); ++i) {
        check_near(d.y[i], l.y[i], 1e-15);
        check_near(d.gx[i], l.gx[i], 1e-14);
        check_near(f.y[i], l.y[i], 1e-6);
        check_near(f.gx[i], l.gx[i], 1e-5);
    }
    const auto h = run<half>(cap_5, {half(9.0f)});
    BOOST_TEST(static_cast<float>(h.y[0]) == static_cast<float>(half(5 * std::tanh(1.8f))));
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> s = tape.variable(1.0);
    for (const double cap : {0.0, -5.0, inf, quiet_nan}) BOOST_CHECK_THROW(chalkgrad::softcap(s, cap), Error);
    BOOST_TEST(tape.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_softcap
