// Stacks and language models.
#include <chalkgrad/nn/layers/stack.hpp>

#include <chalkgrad/nn/core/ops.hpp>

namespace chalkgrad::nn {

Stack::Stack(const std::vector<BlockOptions>& its_blocks, const NormOptions& final_norm) {
    if (its_blocks.empty()) throw Error("stack: it has no block; give at least one");
    for (const BlockOptions& block : its_blocks) {
        if (block.d != its_blocks[0].d || block.placement != its_blocks[0].placement)
            throw Error(fmt::format("stack: blocks of {} ({}) and {} features ({}); d and placement must agree",
                its_blocks[0].d, name(its_blocks[0].placement), block.d, name(block.placement)));
        blocks.emplace_back(block);
    }
    if (final_norm.kind != NormKind::none) final = Norm("final", its_blocks[0].d, final_norm, "final_norm");
}

template <class T> Var<T> Stack::body(Binding<T>& on, const Var<T>& x, const Var<T>& mask, const Var<T>& memory) const {
    Var<T> h = x;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const Scope scope = on.scope(fmt::format("layers.{}", i));
        h = blocks[i](on, h, mask, memory);
    }
    return h;
}

template <class T>
Var<T> Stack::operator()(Binding<T>& on, const Var<T>& x, const Var<T>& mask, const Var<T>& memory) const {
    return final(on, body(on, x, mask, memory));
}

void Stack::visit(const Visitor& v) const {
    for (std::size_t i = 0; i < blocks.size(); ++i) v(fmt::format("layers.{}", i), blocks[i]);
    v("final", final);
}

LanguageModel::LanguageModel(const LanguageModelOptions& its_options)
    : options(its_options), stack(its_options.blocks, its_options.final_norm) {
    const auto& o = options;
    const std::size_t d = stack.blocks[0].options.d;
    embedding = Embedding("embedding", o.vocabulary, d);
    if (o.positions != 0) positions = Embedding("positions", o.positions, d, "pos_embed");
    if (o.embed_norm.kind != NormKind::none) embed_norm = Norm("embed_norm", d, o.embed_norm, "embed_norm");
    if (!o.tied) head = Linear("w_head", d, o.vocabulary, o.head_bias, "lm_head");
    else if (o.head_bias) tied_bias = Parameter("b_head", {o.vocabulary}, "lm_head_bias", constant(0));
}

template <class T> Var<T> LanguageModel::operator()(Binding<T>& on, const Array<std::int64_t>& ids) const {
    const auto& o = options;
    if (ids.dimension() == 0) throw Error("language_model: ids is a single number; it must be (…, T)");
    Var<T> h = embedding(on, ids);
    if (o.embed_scale != 1) h = o.embed_scale * h;
    if (positions) {
        if (ids.shape().back() > o.positions)
            throw Error(fmt::format("language_model: {} tokens, and {} positions were learned; give it a shorter text",
                ids.shape().back(), o.positions));
        Array<std::int64_t> place(std::vector<std::size_t>{ids.shape().back()});
        std::iota(place.begin(), place.end(), std::int64_t{0});
        h = h + positions(on, place);
    }
    h = embed_norm(on, h);
    const BlockOptions& block = stack.blocks[0].options;
    const bool streams = block.placement == Placement::mhc;
    if (streams) h = expand_streams(h, block.streams.n);
    h = stack.body(on, h);
    if (streams) h = merge_streams(h);
    h = stack.final(on, h); // of one stream again
    const Scope scope = on.scope("head");
    Var<T> y = head ? head(on, h) : embedding.tied(on, h);
    if (tied_bias) y = y + on(tied_bias);
    if (o.logit_scale != 1) y = o.logit_scale * y;
    return o.logit_softcap ? softcap(y, *o.logit_softcap) : y;
}

void LanguageModel::visit(const Visitor& v) const {
    v(embedding);
    v(positions);
    v("embed_norm", embed_norm);
    v(stack);
    if (head) v(head);
    else v("head", embedding);
    v(tied_bias);
}

CHALKGRAD_INSTANCES(Stack::body, Stack::operator(), LanguageModel::operator())

} // namespace chalkgrad::nn
