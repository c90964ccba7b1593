// says: no match for 'operator*'
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

using namespace chalkgrad;

Var<double> twice(const Var<double>& x) { return x * "2"; }
