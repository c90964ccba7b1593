// says: no matching function for call to 'chalkgrad::Tape::variable(std::vector
// clang says: no matching member function for call to 'variable'
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

const auto x = chalkgrad::Tape().variable(std::vector<double>{1, 2});
