// says: ambiguous
// clang says: nothing
#include <chalkgrad/autograd/base/array.hpp>

const chalkgrad::Array<double> one_row_of_one{{1}}; // for xtensor the braces may be one pair or two
