// RMSNorm: divides each row by its root mean square.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// How a gain enters the product: y = γ n, or Gemma's y = (1 + γ) n.
enum class Gain { weight, one_plus_weight };

/// Where half and bfloat16 are rounded: once, after the gain (the course, Gemma), or to the input's type before the gain, whose
/// product is rounded again (Llama). Other types have nothing to round.
enum class Cast { after_weight, before_weight };

/// y = γ x / √(⟨x²⟩ + eps), ⟨·⟩ the mean over the last axis (course §5; Zhang and Sennrich 2019).
/// x (…, D); gamma (D), a single number, or absent for none; y has the shape of x. half and bfloat16 are widened before
/// squaring. Rows of any magnitude are right: those whose squares over- or underflow are scaled first. Throws Error for a 0-d
/// x, an empty last axis, another shape of gamma, eps not finite or <= 0.
template <class T>
Var<T> rms_norm(const Var<T>& x, const Var<T>& gamma = {}, double eps = 1e-6, Gain gain = Gain::weight,
    Cast cast = Cast::after_weight);

/// The same from primitive ops, each of which rounds: in half, the square of 1000 is already inf.
template <class T>
Var<T> rms_norm_composed(const Var<T>& x, const Var<T>& gamma = {}, double eps = 1e-6, Gain gain = Gain::weight);

} // namespace chalkgrad
