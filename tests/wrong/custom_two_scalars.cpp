// says: custom: its inputs must be Vars of one scalar
#include <chalkgrad/autograd/tape/custom.hpp>

using namespace chalkgrad;

Var<double> product(const Var<double>& a, const Var<float>& b) {
    return custom(
        "product", [](auto a, auto b) { return xt::eval(a * b); },
        [](auto a, auto b, auto, auto gy) { return std::tuple(xt::eval(b * gy), xt::eval(a * gy)); }, a, b);
}
