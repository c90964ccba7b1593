// cast and stop_gradient: the two ops that belong to the tape itself.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// x in scalar U, each number rounded once; the gradient comes back in x's working type. Joins stretches of different dtype on
/// one tape: double, float, half, bfloat16 (and long double to and from double and float). Throws Error for other pairs.
template <class U, class T> Var<U> cast(const Var<T>& x);

/// x as a constant: same numbers, no gradient flows back. In dual numbers the tangent stops too.
template <class T> Var<T> stop_gradient(const Var<T>& x);

} // namespace chalkgrad
