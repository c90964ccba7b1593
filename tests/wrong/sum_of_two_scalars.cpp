// says: two Vars of different scalars, as float and double: cast<double>(x) converts one of them
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

using namespace chalkgrad;

Var<double> sum(const Var<double>& a, const Var<float>& b) { return a + b; }
