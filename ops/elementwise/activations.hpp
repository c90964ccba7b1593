// Activation functions of the feed-forward networks (course §8). Gradients have the shape of x; where the cotangent is exactly
// 0 they are. At −inf, +inf and NaN values and slopes are the functions' limits: −0 and 0, inf and 1, NaN.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// max(x, 0), with slope 0 at 0.
template <class T> Var<T> relu(const Var<T>& x);
/// σ(x) = 1/(1 + e^−x), with full relative accuracy in both tails.
template <class T> Var<T> sigmoid(const Var<T>& x);
/// log(1 + eˣ) in its exact form everywhere: no linear branch.
template <class T> Var<T> softplus(const Var<T>& x);
/// x σ(x), also called swish.
template <class T> Var<T> silu(const Var<T>& x);
/// x Φ(x), Φ the standard normal distribution function: what configs call "gelu" (Hendrycks and Gimpel 2016).
template <class T> Var<T> gelu_erf(const Var<T>& x);
/// ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))): what configs call "gelu_new" and "gelu_pytorch_tanh".
template <class T> Var<T> gelu_tanh(const Var<T>& x);
/// x σ(alpha x). Throws Error unless alpha is finite and positive.
template <class T> Var<T> quick_gelu(const Var<T>& x, double alpha = 1.702);

/// The same functions as the course writes them, from primitive ops on the tape. gelu: 1 + erf and 1 + tanh cancel below −6.
template <class T> Var<T> sigmoid_composed(const Var<T>& x);
template <class T> Var<T> softplus_composed(const Var<T>& x);
template <class T> Var<T> silu_composed(const Var<T>& x);
template <class T> Var<T> gelu_erf_composed(const Var<T>& x);
template <class T> Var<T> gelu_tanh_composed(const Var<T>& x);
template <class T> Var<T> quick_gelu_composed(const Var<T>& x, double alpha = 1.702);

} // namespace chalkgrad
