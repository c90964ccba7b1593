// says: float where they are double loses digits
#include <chalkgrad/autograd/tape/custom.hpp>

using namespace chalkgrad;

Var<double> square(const Var<double>& x) {
    return custom(
        "square", [](const Array<float>& x) { return Array<float>(x * x); },
        [](const Array<float>& x, const Array<float>&, const Array<float>& gy) { return Array<float>(2.f * x * gy); },
        x);
}
