// softmax and its logarithm over one axis, with an additive mask.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// P = exp(z)/Σ exp(z), z = x + mask, sums over the axis (course §7). The mask broadcasts to x; it is a constant of 0, −inf
/// and other numbers (ops/attention/masks.hpp builds them), or a variable, which gets its gradient. Where all of a row is −inf, P and the
/// gradient are 0; a finite −1e9 instead gives uniform weights. NaN or +inf makes the row NaN. Throws Error for a single number,
/// an axis x does not have, and a mask that does not broadcast to x.
template <class T> Var<T> softmax(const Var<T>& x, std::ptrdiff_t axis = -1, const Var<T>& mask = {});

/// log P, without the underflow of log(softmax(x)). Hidden entries are −inf; what arrives at them is ignored.
template <class T> Var<T> log_softmax(const Var<T>& x, std::ptrdiff_t axis = -1, const Var<T>& mask = {});

/// The same from primitive ops; NaN where all of a row is hidden.
template <class T> Var<T> softmax_composed(const Var<T>& x, std::ptrdiff_t axis = -1, const Var<T>& mask = {});
template <class T> Var<T> log_softmax_composed(const Var<T>& x, std::ptrdiff_t axis = -1, const Var<T>& mask = {});

} // namespace chalkgrad
