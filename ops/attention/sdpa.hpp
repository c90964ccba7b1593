// Scaled dot-product attention, fused: no matrix of all scores is ever kept.
#pragma once

#include <optional>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

struct AttentionOptions {
    std::optional<double> scale{};       ///< of the scores; 1/√d_h if absent
    bool causal = false;                 ///< query i sees keys j <= i
    std::optional<std::size_t> window{}; ///< query i sees keys j > i − window: itself and window − 1 before it
    std::optional<double> softcap{};     ///< scores become cap·tanh(score/cap), before any mask
};

/// y = softmax(cap(scale q kᵀ) + mask) v for each head (course §7; Vaswani et al. 2017; recomputed tile by tile in the backward,
/// Dao et al. 2022). q (…, Hq, Tq, d_h), k (…, Hkv, Tk, d_h), v (…, Hkv, Tk, d_v), the axes in front equal; y (…, Hq, Tq, d_v).
/// Query head h reads key head ⌊h/(Hq/Hkv)⌋. Two axes mean one head. The additive mask (0, −inf, or a learned bias)
/// broadcasts to (…, Hq, Tq, Tk). A query that sees no key gets 0, and passes no gradient. Throws Error for shapes that do not
/// fit, heads that do not divide, d_h = 0, a scale that is not finite, a window of 0, and a cap that is not finite and positive.
template <class T>
Var<T> sdpa(
    const Var<T>& q, const Var<T>& k, const Var<T>& v, const AttentionOptions& options = {}, const Var<T>& mask = {});

/// The same with one more logit for each query head, sinks (Hq), that takes part in the softmax and then is dropped: the
/// weights of a row sum to less than 1 (gpt-oss, course §15; Xiao et al. 2023). It is neither scaled nor capped nor masked.
template <class T>
Var<T> sdpa_sinks(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& sinks,
    const AttentionOptions& options = {}, const Var<T>& mask = {});

/// The same from repeat_kv, matmul, softcap, softmax: keeps several Tq × Tk matrices for each head.
template <class T>
Var<T> sdpa_composed(
    const Var<T>& q, const Var<T>& k, const Var<T>& v, const AttentionOptions& options = {}, const Var<T>& mask = {});
template <class T>
Var<T> sdpa_sinks_composed(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& sinks,
    const AttentionOptions& options = {}, const Var<T>& mask = {});

} // namespace chalkgrad
