// A Transformer block: attention and a feed-forward network, each a residual branch, with norms where the placement puts them.
#pragma once

#include <optional>
#include <variant>

#include <chalkgrad/nn/layers/attention.hpp>
#include <chalkgrad/nn/layers/ffn.hpp>
#include <chalkgrad/nn/layers/latent_attention.hpp>
#include <chalkgrad/nn/layers/moe.hpp>
#include <chalkgrad/nn/layers/residual.hpp>
#include <chalkgrad/nn/layers/streams.hpp>

namespace chalkgrad::nn {

struct BlockOptions {
    std::size_t d = 0; ///< features of the residual stream; the parts whose d is 0 take it
    Placement placement = Placement::pre;
    NormOptions norm = {};
    GroupedAttentionOptions attention = {};
    /// In the place of `attention`: DeepSeek-V3's, or DeepSeek-V4's.
    std::variant<std::monostate, LatentAttentionOptions, SharedKeyAttentionOptions> latent = {};
    std::optional<GroupedAttentionOptions> cross = {}; ///< a second attention, to a memory (the decoder of 2017, T5)
    AnyModule own_attention = {};                      ///< the user's, in the place of both
    FfnOptions ffn = {};
    std::optional<MoeOptions> experts = {}; ///< in the place of `ffn`
    AnyModule own_ffn = {};                 ///< the user's, in the place of both
    double alpha = 1;                       ///< DeepNorm's weight of the residual; deepnorm() gives it
    bool shared_norm = true;     ///< parallel: one norm feeds both branches (GPT-J), or each has its own (GPT-NeoX)
    StreamsOptions streams = {}; ///< mhc
};

/// A block of a vision Transformer (Dosovitskiy et al. 2021): Pre-LN with LayerNorm, every patch sees every other,
/// biases everywhere, FFN of width `width` with GELU and no gate.
BlockOptions vision_block_options(std::size_t d, std::size_t heads, std::size_t width);

/// One residual branch after another (course §6), or both from the same place in parallel, or around the streams of
/// mHC. Parameters attention.wq …, cross.wq …, ffn.w_gate …; the norms of branch k are called norm<k>, of Peri
/// norm<k>_in and norm<k>_out, of output-only norm<k>_out; mhc<k>.pre …. Scopes have the same names.
struct Block {
    /// The norms and streams of one branch; those that the placement does not have are absent.
    struct Branch {
        Norm norm, output_norm;
        std::optional<Streams> streams;
    };

    BlockOptions options;
    std::variant<GroupedAttention, LatentAttention, SharedKeyAttention, AnyModule> attention;
    std::optional<GroupedAttention> cross;
    std::variant<Ffn, Moe, AnyModule> ffn;
    std::vector<Branch> branches; ///< attention, cross, FFN

    Block() = default;
    /// Throws Error for d = 0, parts of another d, and options that contradict each other.
    explicit Block(const BlockOptions& options);

    /// x (…, T, d), for mhc (n, …, T, d); y the same. `mask` goes to the attention, `memory` to the cross-attention.
    template <class T>
    Var<T> operator()(Binding<T>& on, const Var<T>& x, const Var<T>& mask = {}, const Var<T>& memory = {}) const;
    /// What the attention's softmax gives for that x, (…, heads, T, T). Throws Error for latent vectors and mhc.
    template <class T> Var<T> attention_weights(Binding<T>& on, const Var<T>& x, const Var<T>& mask = {}) const;
    void visit(const Visitor& v) const;
};

/// The same block under other options, for an experiment on trained weights. What both have in the same place and shape keeps its
/// numbers; a gain or bias that is new starts as its Init says, at 1 or 0. Throws Error for any other new parameter.
Block rebuilt(const Block& block, const BlockOptions& options);

/// DeepNorm's start (Wang et al. 2022): Xavier, with gain β for the matrices of values, outputs and FFN.
void set_deepnorm_init(const Block& block, double beta);
/// GPT-2's: the last matrix of each branch is smaller by √(2 layers).
void set_depth_scaled_init(const Block& block, std::size_t layers);

} // namespace chalkgrad::nn
