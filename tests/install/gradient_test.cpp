// A user's own Boost.Test: the macro accepts a right gradient, and shows the report of a wrong one.
#define BOOST_TEST_MODULE gradients
#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/testing.hpp>

using namespace chalkgrad;

namespace {

Var<double> cube(const Var<double>& x, double factor) {
    return custom(
        "cube", [](const Array<double>& a) { return Array<double>(a * a * a); },
        [factor](const Array<double>& a, const Array<double>&, const Array<double>& gy) {
            return Array<double>(factor * a * a * gy);
        },
        x);
}

} // namespace

BOOST_AUTO_TEST_CASE(right_gradients_pass) {
    CHALKGRAD_CHECK_GRADIENT([](const auto& x) { return cube(x, 3); }, Array<double>{0.5, -2});
    CHALKGRAD_CHECK_GRADIENT([](const auto& x, const auto& gamma) { return rms_norm(x, gamma); },
        Array<double>{2, -1, 3}, Array<double>{0.5, -2, 3});
}

BOOST_AUTO_TEST_CASE(wrong_gradients_fail, *boost::unit_test::expected_failures(1)) {
    CHALKGRAD_CHECK_GRADIENT([](const auto& x) { return cube(x, 2); }, Array<double>{0.5, -2});
}
