// Whether a cotangent is exactly zero. A slope may be inf or NaN where nobody asks for it (the branch a `where` did not take),
// and 0·inf would be NaN: rules answer 0 there.
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>

#ifndef CHALKGRAD_KERNELS_ONLY
namespace chalkgrad {

/// A dual is zero when both its parts are: a tangent that meets a zero cotangent is a second derivative.
template <class T> constexpr bool is_zero(const Dual<T>& g) { return g.v == T(0) && g.d == T(0); }

} // namespace chalkgrad
#endif

namespace chalkgrad::CHALKGRAD_ISA {

FAST inline bool is_zero(float g) { return g == 0; }
FAST inline bool is_zero(double g) { return g == 0; }
FAST inline bool is_zero(long double g) { return g == 0; }

/// A gradient that is computed from the cotangent gy: 0 where gy is. An argument is computed before the choice; written as a
/// choice between computations it would be a branch, and the loop not vectorised.
template <class T> FAST inline T unless_zero(T gy, T gradient) { return is_zero(gy) ? T(0) : gradient; }

} // namespace chalkgrad::CHALKGRAD_ISA
