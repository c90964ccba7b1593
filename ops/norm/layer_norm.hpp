// LayerNorm: centres each row and divides it by its standard deviation.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// y = γ (x − μ) / √(σ² + eps) + β, μ the mean and σ² the variance (divisor D) of a row, the last axis (course §5; Ba,
/// Kiros and Hinton 2016). x (…, D); gamma and beta (D), a single number, or absent; y has the shape of x. Centred twice,
/// so that rows with a large mean lose no digits. half and bfloat16 are widened first and rounded once. Throws Error for a
/// 0-d x, an empty last axis, another shape of gamma or beta, and eps that is not finite and positive.
template <class T>
Var<T> layer_norm(const Var<T>& x, const Var<T>& gamma = {}, const Var<T>& beta = {}, double eps = 1e-5);

/// The same from primitive ops.
template <class T>
Var<T> layer_norm_composed(const Var<T>& x, const Var<T>& gamma = {}, const Var<T>& beta = {}, double eps = 1e-5);

} // namespace chalkgrad
