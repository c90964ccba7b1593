// says: no matching function for call to 'chalkgrad::Tape::variable(std::vector
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

const auto x = chalkgrad::Tape().variable(std::vector<double>{1, 2});
