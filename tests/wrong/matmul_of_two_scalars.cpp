// says: no matching function for call to 'matmul(
// clang says: no matching function for call to 'matmul'
#include <chalkgrad/ops/linear/matmul.hpp>

using namespace chalkgrad;

Var<double> product(const Var<double>& a, const Var<float>& b) { return matmul(a, b); }
