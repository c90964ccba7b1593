// Norms of attention's queries and keys: along which axis, and before or after the split into heads.
#pragma once

#include <chalkgrad/ops/norm/l2_normalize.hpp>

namespace chalkgrad {

/// Splits q (…, T, H·d_h) into heads (…, H, T, d_h) and takes the RMSNorm of every head by itself; gamma (d_h), shared by the
/// heads, or absent (course §7; Qwen3). Serves keys too. Throws Error for fewer than two axes and for heads that do not divide.
template <class T>
Var<T> qk_norm_per_head(const Var<T>& q, std::size_t heads, const Var<T>& gamma = {}, double eps = 1e-6);

/// RMSNorm over the whole projection H·d_h, then the split; gamma (H·d_h) or absent (course §7; OLMo 2). One head's size changes
/// what the other heads become.
template <class T>
Var<T> qk_norm_whole(const Var<T>& q, std::size_t heads, const Var<T>& gamma = {}, double eps = 1e-6);

/// τ q̂ k̂ᵀ, q̂ and k̂ the L2-normalised rows of q (…, T, d) and k (…, S, d), tau one learned number in the place of 1/√d (course
/// §7; Henry et al. 2020). Throws Error for fewer than two axes, different d, and a tau of another shape.
template <class T>
Var<T> qknorm_scores(
    const Var<T>& q, const Var<T>& k, const Var<T>& tau, double eps = 1e-12, Guard guard = Guard::floor);

/// The same from primitive ops.
template <class T>
Var<T> qk_norm_per_head_composed(const Var<T>& q, std::size_t heads, const Var<T>& gamma = {}, double eps = 1e-6);
template <class T>
Var<T> qk_norm_whole_composed(const Var<T>& q, std::size_t heads, const Var<T>& gamma = {}, double eps = 1e-6);
template <class T>
Var<T> qknorm_scores_composed(
    const Var<T>& q, const Var<T>& k, const Var<T>& tau, double eps = 1e-12, Guard guard = Guard::floor);

} // namespace chalkgrad
