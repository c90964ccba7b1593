// A described model as modules: shapes only for a whole model, or with numbers at reduced sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/nn/layers/stack.hpp>
#include <chalkgrad/nn/models/description.hpp>

namespace chalkgrad::nn {

/// What a description calls by the name of its op: "silu", "gelu_erf".
Activation activation_of(std::string_view op);

/// The block of one layer. Left out, as they hold no parameter: expert groups, the angles of
/// image towers, and how DeepSeek-V4 stretches those of compressed keys.
BlockOptions block_options(const ModelDescription& model, const StackFacts& stack, const LayerFacts& layer);

/// One block of each kind of layer, one after another as the model has them, at full size: what drawings show. Records
/// on a tape of shapes; x is (tokens, width), or (streams, tokens, width) for mHC. Of two stacks the decoder, with the
/// encoder's output as a second input: the encoder's blocks are the same without cross-attention.
Recorded record_blocks(const Tape& tape, const ModelDescription& model);

/// The same structure at sizes that a full check of gradients can afford: every kind of layer once, heads that share
/// keys still share them, widths that differed still differ.
ModelDescription reduced(const ModelDescription& model);

/// An image encoder and what joins it to a language model. Rotations over two axes are left out; they hold no parameter.
struct VisionTower {
    VisionFacts facts;
    Linear patches;
    Parameter class_token;
    Embedding positions;
    Norm first_norm;
    Stack stack;
    Parameter probe; ///< SigLIP's pooling head reads the patches with one learned query
    std::optional<GroupedAttention> pool;
    Norm pool_norm;
    std::optional<Ffn> pool_ffn;
    Norm projector_norm;
    Linear shuffle_up, shuffle_down, projector;

    VisionTower(const VisionFacts& facts, std::size_t text_width);
    /// The patches (patches, pixels of one) an image has.
    Shape image_shape() const;
    /// y (tokens, text_width).
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& image) const;
    void visit(const Visitor& v) const;
};

/// All modules of a model. Its parameters are those of the ledger; nothing has numbers until it is initialised:
///     const Model model(read_model_config(text));
///     const Tape tape(Tape::Mode::shapes_only);
///     Binding<double> on(tape);
///     model(on, ids);                    // every tensor of every layer is a line now
struct Model {
    ModelDescription description;
    Embedding embedding, positions, types;
    Linear patches; ///< ViT: of an image patch
    Parameter class_token;
    Norm embedding_norm;
    /// One for each stack of the description.
    struct Part {
        std::string name; ///< empty where there is but one
        Stack stack;
    };
    std::vector<Part> parts;
    Parameter mixing, mixing_base, mixing_scale; ///< mHC: streams to one state, before the final norm
    Linear pooler, head;
    Parameter tied_bias;
    struct Prediction { ///< multi-token prediction: one block more
        Norm embedding_norm, state_norm, final;
        Linear join;
        Block block;
    };
    std::optional<Prediction> prediction;
    std::optional<VisionTower> tower;

    explicit Model(const ModelDescription& description);

    /// ids (T) of the text; for ViT, and in front of the text for a model with a tower, `image` (patches, pixels of a
    /// patch). An encoder-decoder reads the same ids on both sides. y: scores (rows, vocabulary), with multi-token
    /// prediction's below them; class scores (1, classes); or BERT's states with the pooled one as a last row.
    template <class T>
    Var<T> operator()(Binding<T>& on, const Array<std::int64_t>& ids, const Var<T>& image = {}) const;
    /// The shape that `image` must have; rank 0 where the model takes none.
    Shape image_shape() const;
    void visit(const Visitor& v) const;

    // The same in steps, for a decoder alone: embed(), each block with position_bias(), the final norm, score().
    /// The stream (T, d) that the first block reads.
    template <class T> Var<T> embed(Binding<T>& on, const Array<std::int64_t>& ids) const;
    /// What the scores of attention get added (T5, ALiBi); absent where there is nothing.
    template <class T> Var<T> position_bias(Binding<T>& on, const Part& part, std::size_t tokens) const;
    /// Normed states (…, d) as scores.
    template <class T> Var<T> score(Binding<T>& on, const Var<T>& h) const;

private:
    template <class T> Var<T> run(Binding<T>& on, const Part& part, const Var<T>& x, const Var<T>& memory) const;
};

} // namespace chalkgrad::nn
