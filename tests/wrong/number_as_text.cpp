// says: no match for 'operator*'
// clang says: invalid operands to binary expression ('const Var<double>' and
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

using namespace chalkgrad;

Var<double> twice(const Var<double>& x) { return x * "2"; }
