// minimum and maximum of two operands, and the smooth maximum logaddexp, with NumPy's broadcasting.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// The lesser of a and b. Where they are equal each gets half the gradient, so maximum(x, 0) is not relu(x) at 0. NaN in
/// either gives NaN, and no gradient. Throws Error where the shapes do not broadcast.
template <class T> Var<T> minimum(const Var<T>& a, const Var<T>& b);
/// The greater of a and b; as minimum.
template <class T> Var<T> maximum(const Var<T>& a, const Var<T>& b);
/// log(eᵃ + eᵇ), without overflow; −inf and no gradient where both are −inf (course §13: sigmoid is exp(−logaddexp(0, −z))).
template <class T> Var<T> logaddexp(const Var<T>& a, const Var<T>& b);
/// The same from primitive ops: max(a, b) + log(1 + e^−|a − b|).
template <class T> Var<T> logaddexp_composed(const Var<T>& a, const Var<T>& b);

} // namespace chalkgrad
