// Arrays of half and bfloat16 from and to float and double, each element rounded once.
#pragma once

#include <cstddef>

#include <chalkgrad/autograd/base/scalar.hpp>

namespace chalkgrad {

/// to[i] = from[i] for i < n, the arrays not overlapping. Widening is exact, subnormals included. Narrowing rounds to
/// nearest, ties to even, straight from the source (no double rounding through float); beyond the largest finite value
/// plus half a unit it gives ±inf. A NaN stays a NaN of the same sign. n = 1 converts a scalar.
void convert(std::size_t n, const half* from, float* to);
void convert(std::size_t n, const half* from, double* to);
void convert(std::size_t n, const bfloat16* from, float* to);
void convert(std::size_t n, const bfloat16* from, double* to);
void convert(std::size_t n, const float* from, half* to);
void convert(std::size_t n, const double* from, half* to);
void convert(std::size_t n, const float* from, bfloat16* to);
void convert(std::size_t n, const double* from, bfloat16* to);

} // namespace chalkgrad
