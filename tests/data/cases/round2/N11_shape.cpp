// A backward that forgets to sum over what was broadcast, and one that hands back a column for a row.
#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/testing.hpp>
using namespace chalkgrad;
static Var<double> scaled(const Var<double>& x, const Var<double>& g, int kind) {
    return custom(
        "scaled", [](const Array<double>& x, const Array<double>& g) { return Array<double>(x * g); },
        [kind](const Array<double>& x, const Array<double>& g, const Array<double>&, const Array<double>& gy) {
            Array<double> gx = g * gy, full = x * gy, row = xt::sum(full, {0});
            if (kind == 0) return std::tuple(gx, row);
            if (kind == 1) return std::tuple(gx, full);
            row.reshape({3, 1});
            return std::tuple(gx, row);
        },
        x, g);
}
CHALKGRAD_GRADCHECK(
    right, [](const auto& x, const auto& g) { return scaled(x, g, 0); }, Array<double>{{1, 2, 3}, {-1, 0.5, 4}},
    Array<double>{2, -1, 0.5});
#ifdef KIND
CHALKGRAD_GRADCHECK(
    wrong, [](const auto& x, const auto& g) { return scaled(x, g, KIND); }, Array<double>{{1, 2, 3}, {-1, 0.5, 4}},
    Array<double>{2, -1, 0.5});
#endif
