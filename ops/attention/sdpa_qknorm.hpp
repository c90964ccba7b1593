// Attention whose queries and keys are normalised first. Each call records a norm for q, one for k, and sdpa.
#pragma once

#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/norm/l2_normalize.hpp>

namespace chalkgrad {

/// RMSNorm inside each head, one gain for all heads (course §7; Qwen 3): q (…, Hq, Tq, d_h), k, v as for sdpa, gains (d_h).
template <class T>
Var<T> sdpa_qknorm_per_head(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& q_gamma,
    const Var<T>& k_gamma, double eps = 1e-6, const AttentionOptions& options = {});

/// RMSNorm over the whole projection, before it is split into heads (OLMo 2): q (…, T, heads_q·d_h), k (…, T, heads_kv·d_h),
/// v (…, T, heads_kv·d_v), gains as long as the rows; y (…, heads_q, T, d_v).
template <class T>
Var<T> sdpa_qknorm_whole(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& q_gamma,
    const Var<T>& k_gamma, std::size_t heads_q, std::size_t heads_kv, double eps = 1e-6,
    const AttentionOptions& options = {});

/// softmax(tau q̂ k̂ᵀ) v with q̂, k̂ of length 1 and a learned tau, a single number (course §7; Henry et al. 2020). options.scale
/// multiplies tau; it is 1 if absent.
template <class T>
Var<T> sdpa_qknorm_l2(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& tau, double eps = 1e-12,
    Guard guard = Guard::additive, const AttentionOptions& options = {});

} // namespace chalkgrad
