// Attention through low-rank vectors as modules: DeepSeek-V3's latent attention, and V4's single key with compression.
#pragma once

#include <optional>

#include <chalkgrad/nn/core/linear.hpp>
#include <chalkgrad/nn/core/norm.hpp>
#include <chalkgrad/ops/attention/rope.hpp>

namespace chalkgrad::nn {

struct LatentAttentionOptions {
    std::size_t d = 0; ///< features of x and y
    std::size_t heads = 1;
    std::size_t q_rank = 0;                 ///< of the queries' latent vector; 0: projected directly
    std::size_t kv_rank = 0;                ///< of the vector that keys and values come from
    std::size_t nope_dim = 0, rope_dim = 0; ///< features of a head's queries and keys without and with positions
    std::size_t value_dim = 0;              ///< of a head's values
    double eps = 1e-6;                      ///< of the norms of the latent vectors
    RopeOptions rope = {.style = RopeStyle::interleaved}; ///< on rope_dim features
    std::optional<double> scale = {};                     ///< of the scores; 1/√(nope_dim + rope_dim) if absent
};

/// q = W_up N(W_down x); c = N(W_down x) holds keys and values of all heads; the rotated features of the key are one
/// vector for all heads (DeepSeek-V2, 2024). A head's features are [rotated, plain]. Causal. Parameters wq_down,
/// q_norm.gamma, wq_up (or wq), wkv_down, wk_rope, kv_norm.gamma, wk_up, wv_up, wo.
struct LatentAttention {
    LatentAttentionOptions options;
    Linear wq_down, wq_up, wkv_down, wk_rope, wk_up, wv_up, wo; ///< wq_up reads x itself where q_rank is 0
    Norm q_norm, kv_norm;

    LatentAttention() = default;
    /// Throws Error for an extent of 0.
    explicit LatentAttention(const LatentAttentionOptions& options);
    /// x (…, T, d); y the same.
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const;
    void visit(const Visitor& v) const;
};

/// r tokens become one vector c = N(Σᵢ softmax_i(g + p) ⊙ k): keys k = x W_kv, weights g = x W_gate feature by feature,
/// p a learned offset of each place. Overlapping: 2 r tokens, those of the group before with other columns of k and g.
/// Parameters w_kv, w_gate (d, width or 2 width), place (r, the same), norm.gamma.
struct Compressor {
    std::size_t tokens = 0, width = 0;
    bool overlapping = false;
    Linear w_kv, w_gate;
    Parameter place;
    Norm norm;

    Compressor() = default;
    Compressor(std::size_t d, std::size_t width, std::size_t tokens, bool overlapping, double eps,
        const std::string& component);
    /// x (T, d) with T >= tokens; y (T / tokens, width): whole groups only.
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const;
    void visit(const Visitor& v) const;
};

struct SharedKeyAttentionOptions {
    std::size_t d = 0, heads = 1, head_dim = 0;
    std::size_t q_rank = 0, rope_dim = 0;
    std::size_t out_groups = 1, out_rank = 0; ///< heads of a group share a map down to out_rank features
    std::size_t window = 0;                   ///< tokens a query sees as they are
    std::size_t compress = 0;                 ///< tokens of one compressed key; 0: none. 4 overlaps, and has an indexer
    std::size_t index_heads = 0, index_dim = 0, index_keys = 512; ///< the indexer picks this many compressed keys
    double eps = 1e-6;
    RopeOptions rope = {.style = RopeStyle::interleaved}; ///< on rope_dim features
};

/// One vector is key and value of every head; queries see a window of tokens, and whole compressed groups before them; a sink
/// joins each softmax; the output goes down in groups of heads and up together. What the indexer picks is a constant of the
/// recorded program, so its parameters have no gradient here (in training they have a loss of their own). Causal; x has rank 2.
/// Parameters wq_down, q_norm.gamma, wq_up, wkv, kv_norm.gamma, wo_down (heads·head_dim, out_rank) by groups of rows, wo_up,
/// sinks, compressor.…, wq, w_heads, index_compressor.…. Compressed keys are rotated by the number of their group.
struct SharedKeyAttention {
    SharedKeyAttentionOptions options;
    Linear wq_down, wq_up, wkv, wo_up;
    Parameter wo_down, sinks;
    Norm q_norm, kv_norm, q_head_norm;
    std::optional<Compressor> compressor, index_compressor;
    Linear wq_index, w_index;

    SharedKeyAttention() = default;
    /// Throws Error for an extent of 0, and heads that do not divide into groups.
    explicit SharedKeyAttention(const SharedKeyAttentionOptions& options);
    /// x (T, d); y the same.
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const;
    void visit(const Visitor& v) const;

private:
    /// What each query may see of the tokens and the groups: 0 or −inf, (T, T + groups).
    template <class T> Var<T> mask(Binding<T>& on, const Var<T>& x, const Var<T>& q_latent, std::size_t groups) const;
};

} // namespace chalkgrad::nn
