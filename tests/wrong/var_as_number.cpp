// says: cannot convert 'const chalkgrad::Var<double>' to 'double'
#include <chalkgrad/autograd/tape/tape.hpp>

double loss(const chalkgrad::Var<double>& y) { return y; }
