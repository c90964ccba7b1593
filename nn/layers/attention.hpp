// Grouped-query attention as a module: projections, norms of queries and keys, positions, masks, sinks.
#pragma once

#include <optional>

#include <chalkgrad/nn/core/linear.hpp>
#include <chalkgrad/nn/core/norm.hpp>
#include <chalkgrad/ops/attention/rope.hpp>
#include <chalkgrad/ops/norm/guarded_root.hpp>

namespace chalkgrad::nn {

/// Along which axis queries and keys are normalised (course §7): not at all; inside each head, one gain for all heads
/// (Qwen 3); likewise with a gain for every head by itself (Cohere); over all heads at once, before they are split
/// (OLMo 2); to length 1, with a learned τ in the place of 1/√d_h (Henry et al. 2020).
enum class QkAxis { none, per_head, per_head_gains, whole_projection, l2 };

struct QkNormOptions {
    QkAxis axis = QkAxis::none;
    NormOptions norm = {};   ///< of all but l2
    bool after_rope = false; ///< Llama 4; per_head and per_head_gains only
    double tau = 10;         ///< l2: where τ starts; henry_tau() gives the paper's value
    double l2_eps = 1e-12;
    Guard guard = Guard::additive;
};

struct GroupedAttentionOptions {
    std::size_t d = 0;         ///< features of x and y
    std::size_t heads = 1;     ///< of queries
    std::size_t kv_heads = 0;  ///< of keys and values, a divisor of heads; 0: as many as heads
    std::size_t head_dim = 0;  ///< 0: d/heads
    std::size_t value_dim = 0; ///< of a head's values; 0: head_dim
    std::size_t memory_d = 0;  ///< features of what keys and values are read from; 0: d
    bool q_bias = false, k_bias = false, v_bias = false, o_bias = false;
    bool causal = true;
    std::optional<std::size_t> window = {}; ///< keys a query sees, itself included
    std::optional<double> softcap = {};     ///< of the scores, before the mask
    std::optional<double> scale = {};       ///< of the scores; 1/√head_dim if absent (1 with QkAxis::l2, T5)
    std::optional<RopeOptions> rope = {};
    std::optional<double> clip = {}; ///< q, k, v are clamped to ±clip first (OLMo 1)
    QkNormOptions qk_norm = {};
    bool sinks = false;            ///< one learned logit for each head (gpt-oss)
    std::size_t relative_rows = 0; ///< of a table of biases by distance, kept here for a whole stack (T5); 0: none
};

/// y = concat_heads(softmax(scores) v) W_o. Parameters wq (d, heads·head_dim), wk, wv (memory_d, kv_heads·…), wo, their
/// biases bq, bk, bv, bo, q_norm.gamma, k_norm.gamma, tau, sinks (heads), relative (relative_rows, heads).
struct GroupedAttention {
    GroupedAttentionOptions options;
    Linear wq, wk, wv, wo;
    Norm q_norm, k_norm;
    Parameter tau, sinks;
    Embedding relative; ///< whoever makes the mask looks it up

    GroupedAttention() = default;
    /// Throws Error for heads that do not divide, and options that contradict each other.
    explicit GroupedAttention(const GroupedAttentionOptions& options);

    /// x (…, T, d); y the same. The additive mask, a constant or a learned bias (T5), broadcasts to (…, heads, T, keys). With a
    /// memory (…, S, memory_d), keys and values are read from it: cross-attention, to be built with causal = false.
    template <class T>
    Var<T> operator()(Binding<T>& on, const Var<T>& x, const Var<T>& mask = {}, const Var<T>& memory = {}) const;
    /// The weights that the softmax gives, (…, heads, T, T) of x (…, T, d), without the sinks': what comes out for values that
    /// are a unit matrix.
    template <class T> Var<T> weights(Binding<T>& on, const Var<T>& x, const Var<T>& mask = {}) const;
    void visit(const Visitor& v) const;

private:
    template <class T> struct Heads {
        Var<T> q, k, v; ///< split, normed and rotated
    };
    template <class T> Heads<T> project(Binding<T>& on, const Var<T>& x, const Var<T>& source) const;
    template <class T> Var<T> attend(Binding<T>& on, const Heads<T>& heads, const Var<T>& mask) const;
};

} // namespace chalkgrad::nn
