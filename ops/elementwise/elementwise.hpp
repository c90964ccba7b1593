// Functions of one element. Gradients have the shape of x, and are exactly 0 wherever the cotangent is exactly 0, even if the
// slope there is inf or NaN. NaN and inf flow through; no shape is refused, empty ones neither.
#pragma once

#include <optional>

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

/// x^exponent, with C's conventions: x⁰ = 1 for every x, negative x only for whole exponents (else NaN). The exponent is a
/// constant; the slope in x is p x^(p − 1), 0 for p = 0, inf at x = 0 for 0 < p < 1. Throws Error for a non-finite exponent.
template <class T> Var<T> pow(const Var<T>& x, double exponent);
/// min(max(x, min), max); an absent limit is an open side. The slope is 1 inside and exactly at a limit, 0 outside; NaN stays
/// NaN, with slope 0. The gate of gpt-oss is clamp(g, {}, 7) (course §9). Throws Error for a NaN limit and for min > max.
template <class T> Var<T> clamp(const Var<T>& x, std::optional<double> min, std::optional<double> max);

} // namespace chalkgrad
