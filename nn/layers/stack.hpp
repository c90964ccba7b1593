// Blocks behind each other with a final norm, and the language model around them: embedding, positions, head.
#pragma once

#include <chalkgrad/nn/layers/block.hpp>

namespace chalkgrad::nn {

/// Parameters layers.0.attention.wq …, and final.gamma. Scopes have the same names.
struct Stack {
    std::vector<Block> blocks;
    Norm final;

    Stack() = default;
    /// Pre-LN, Peri-LN, output-only and parallel stacks end with a norm (course §6); Post-LN and DeepNorm need none.
    explicit Stack(const std::vector<BlockOptions>& blocks, const NormOptions& final_norm = {.kind = NormKind::none});
    Stack(std::size_t layers, const BlockOptions& block, const NormOptions& final_norm = {.kind = NormKind::none})
        : Stack(std::vector<BlockOptions>(layers, block), final_norm) {}

    /// x (…, T, d), for mhc (n, …, T, d); y the same. Every block gets the mask and the memory.
    template <class T>
    Var<T> operator()(Binding<T>& on, const Var<T>& x, const Var<T>& mask = {}, const Var<T>& memory = {}) const;
    /// The same without the final norm.
    template <class T>
    Var<T> body(Binding<T>& on, const Var<T>& x, const Var<T>& mask = {}, const Var<T>& memory = {}) const;
    void visit(const Visitor& v) const;
};

struct LanguageModelOptions {
    std::size_t vocabulary = 0;
    std::vector<BlockOptions> blocks;
    std::size_t positions = 0;                         ///< rows of a learned table of positions; 0: none
    NormOptions embed_norm = {.kind = NormKind::none}; ///< after the embedding (BERT)
    NormOptions final_norm = {};
    bool tied = false; ///< the head is the embedding's table, used a second time
    bool head_bias = false;
    double embed_scale = 1;                   ///< Gemma: √d
    double logit_scale = 1;                   ///< Cohere
    std::optional<double> logit_softcap = {}; ///< Gemma 2
};

/// Token ids to scores of the next token. With mHC blocks the embedding enters as equal streams, and their sum leaves. Parameters
/// embedding (V, d), positions, layers.0.…, final.gamma, and w_head (d, V), b_head; a tied head is listed as head.embedding.
struct LanguageModel {
    LanguageModelOptions options;
    Embedding embedding, positions;
    Norm embed_norm;
    Stack stack;
    Linear head; ///< absent where it is tied
    Parameter tied_bias;

    LanguageModel() = default;
    /// Throws Error for no blocks, and blocks of different d or placement.
    explicit LanguageModel(const LanguageModelOptions& options);

    /// ids (…, T); y (…, T, vocabulary).
    template <class T> Var<T> operator()(Binding<T>& on, const Array<std::int64_t>& ids) const;
    void visit(const Visitor& v) const;
};

} // namespace chalkgrad::nn
