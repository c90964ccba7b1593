#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/testing.hpp>

using namespace chalkgrad;

// y = x |x|, dy/dx = 2 |x|
Var<double> signed_square(const Var<double>& x) {
    return custom(
        "signed_square", [](const Array<double>& x) { return Array<double>(x * xt::abs(x)); },
        [](const Array<double>& x, const Array<double>&, const Array<double>& gy) {
            return Array<double>(2. * xt::abs(x) * gy);
        },
        x);
}

CHALKGRAD_GRADCHECK(signed_square, signed_square, Array<double>{0.5, -2, 3});
CHALKGRAD_GRADCHECK(
    product, [](const auto& x, const auto& w) { return signed_square(matmul(x, w)); }, Array<double>{{0.5, -2}, {1, 3}},
    Array<double>{{1, 2}, {-0.5, 4}});
