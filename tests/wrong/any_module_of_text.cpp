// says: AnyModule: give a function of x (const auto& x or const Var<double>& x), a module
#include <chalkgrad/nn/core/any_module.hpp>

using namespace chalkgrad;

const nn::AnyModule part("part", [](const Array<double>& x) { return x; });
