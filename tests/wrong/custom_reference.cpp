// says: custom: the backward must return arrays or numbers by value
#include <chalkgrad/autograd/tape/custom.hpp>

using namespace chalkgrad;

Var<double> same(const Var<double>& x) {
    return custom(
        "same", [](const Array<double>& x) { return x; },
        [](const auto&, const auto&, const auto& gy) -> const auto& { return gy; }, x);
}
