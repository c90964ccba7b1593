// Functions of one element. Gradients have the shape of x, and are exactly 0 wherever the cotangent is exactly 0, even if the
// slope there is inf or NaN. NaN and inf flow through; no shape is refused, empty ones neither.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// −x.
template <class T> Var<T> neg(const Var<T>& x);
/// eˣ; inf beyond 709.78 in double.
template <class T> Var<T> exp(const Var<T>& x);
/// log x, natural; −inf at 0, NaN below.
template <class T> Var<T> log(const Var<T>& x);
/// log(1 + x), exact for small x; −inf at −1, NaN below.
template <class T> Var<T> log1p(const Var<T>& x);
/// √x; its slope at 0 is inf. NaN below 0.
template <class T> Var<T> sqrt(const Var<T>& x);
/// 1/√x; inf at 0.
template <class T> Var<T> rsqrt(const Var<T>& x);
/// x².
template <class T> Var<T> square(const Var<T>& x);
/// 1/x.
template <class T> Var<T> reciprocal(const Var<T>& x);
/// tanh x.
template <class T> Var<T> tanh(const Var<T>& x);
/// erf x = 2/√π ∫₀ˣ e^(−t²) dt.
template <class T> Var<T> erf(const Var<T>& x);
/// |x|, with slope 0 at 0.
template <class T> Var<T> abs(const Var<T>& x);

} // namespace chalkgrad
