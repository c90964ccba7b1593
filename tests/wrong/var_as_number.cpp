// says: cannot convert 'const chalkgrad::Var<double>' to 'double'
// clang says: no viable conversion from returned value of type 'const chalkgrad::Var<double>' to function return type 'double'
#include <chalkgrad/autograd/tape/tape.hpp>

double loss(const chalkgrad::Var<double>& y) { return y; }
