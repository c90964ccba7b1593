// Norms of attention's queries and keys, along which axis, before or after the split into heads; and attention with them.
#pragma once

#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/norm/guarded_root.hpp>

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

/// sdpa of queries and keys that are normalised first; each call records a norm for q, one for k, and sdpa; `composed`: the primitive
/// ops that these are made of. Here RMSNorm inside each head, one gain for all heads (course §7; Qwen 3): q (…, Hq, Tq, d_h), k, v as for sdpa, gains (d_h).
template <class T, bool composed = false>
Var<T> sdpa_qknorm_per_head(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& q_gamma,
    const Var<T>& k_gamma, double eps = 1e-6, const AttentionOptions& options = {});

/// RMSNorm over the whole projection, before it is split into heads (OLMo 2): q (…, T, heads_q·d_h), k (…, T, heads_kv·d_h),
/// v (…, T, heads_kv·d_v), gains as long as the rows; y (…, heads_q, T, d_v).
template <class T, bool composed = false>
Var<T> sdpa_qknorm_whole(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& q_gamma,
    const Var<T>& k_gamma, std::size_t heads_q, std::size_t heads_kv, double eps = 1e-6,
    const AttentionOptions& options = {});

/// softmax(tau q̂ k̂ᵀ) v with q̂, k̂ of length 1 and a learned tau, a single number (course §7; Henry et al. 2020). options.scale
/// multiplies tau; it is 1 if absent.
template <class T, bool composed = false>
Var<T> sdpa_qknorm_l2(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& tau, double eps = 1e-12,
    Guard guard = Guard::additive, const AttentionOptions& options = {});

} // namespace chalkgrad
