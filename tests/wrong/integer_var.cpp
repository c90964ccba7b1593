// says: a Var holds double, float, long double, half, bfloat16 or Dual<double>
#include <chalkgrad/autograd/tape/tape.hpp>

chalkgrad::Var<int> x;
