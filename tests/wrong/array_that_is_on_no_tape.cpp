// says: no matching function for call to 'rms_norm(chalkgrad::Array<double>)'
// clang says: no matching function for call to 'rms_norm'
#include <chalkgrad/ops/norm/rms_norm.hpp>

const auto y = chalkgrad::rms_norm(chalkgrad::Array<double>{1, 2});
