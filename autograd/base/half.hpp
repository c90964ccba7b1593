// The storage scalars' own arithmetic: the only header that includes Eigen. Array conversions are in convert.hpp.
#pragma once

#include <Eigen/Core>

#include <chalkgrad/autograd/base/scalar.hpp>
