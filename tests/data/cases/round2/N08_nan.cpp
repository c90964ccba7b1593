// Backwards that answer NaN, and a forward outside of its domain: none of them may pass.
#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/testing.hpp>
#include <cmath>
#include <limits>
using namespace chalkgrad;
static Var<double> cube(const Var<double>& x, int nan_at) {
    return custom(
        "cube", [](const Array<double>& x) { return Array<double>(x * x * x); },
        [nan_at](const Array<double>& x, const Array<double>&, const Array<double>& gy) {
            Array<double> g = 3. * x * x * gy;
            for (std::size_t i = 0; i < g.size(); ++i)
                if (nan_at < 0 || static_cast<int>(i) == nan_at) g.data()[i] = std::numeric_limits<double>::quiet_NaN();
            return g;
        },
        x);
}
CHALKGRAD_GRADCHECK(
    right_one, [](const auto& x) { return cube(x, 99); }, Array<double>{0.5, -2, 3});
CHALKGRAD_GRADCHECK(
    nan_everywhere, [](const auto& x) { return cube(x, -1); }, Array<double>{0.5, -2, 3});
CHALKGRAD_GRADCHECK(
    nan_in_one, [](const auto& x) { return cube(x, 1); }, Array<double>{0.5, -2, 3});
static Var<double> arcosh(const Var<double>& x) {
    return custom(
        "arcosh",
        [](const Array<double>& x) {
            Array<double> y = x;
            for (auto& v : y) v = std::acosh(v);
            return y;
        },
        [](const Array<double>& x, const Array<double>&, const Array<double>& gy) {
            Array<double> g = gy;
            for (std::size_t i = 0; i < g.size(); ++i)
                g.data()[i] = gy.data()[i] / std::sqrt(x.data()[i] * x.data()[i] - 1);
            return g;
        },
        x);
}
CHALKGRAD_GRADCHECK(
    nan_on_both_sides, [](const auto& x) { return arcosh(x); }, Array<double>{0.2, 0.5, 0.9});
CHALKGRAD_GRADCHECK(
    inside_its_domain, [](const auto& x) { return arcosh(x); }, Array<double>{1.2, 1.5, 9});
