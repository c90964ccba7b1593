// One token through all blocks, by their own modules; attention reads the keys that are kept.
#include <chalkgrad/experiments/checkpoint/decoder.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/attention/heads.hpp>
#include <chalkgrad/ops/attention/rope.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace chalkgrad {

std::string why_no_cache(const nn::Checkpoint& model) {
    const nn::ModelDescription& m = model.model.description;
    if (m.positions.kind == "relative" || m.positions.kind == "alibi" || m.positions.kind == "sinusoid" ||
        m.type_rows > 0)
        return fmt::format("positions are '{}'", m.positions.kind);
    for (const nn::Block& block : model.blocks()) {
        const auto* const attention = std::get_if<nn::GroupedAttention>(&block.attention);
        if (attention == nullptr) return "attention reads latent vectors";
        if (block.cross || block.options.placement == nn::Placement::mhc) return "a block has more than one input";
        if (!attention->options.causal) return "attention is not causal";
        if (attention->tau) return "queries and keys have length 1";
    }
    return {};
}

template <class T> Decoder<T>::Decoder(const nn::Checkpoint& model) : model_(model), on_(tape_) {
    if (const std::string why = why_no_cache(model); !why.empty())
        throw Error("decoder: " + why + ", so keys cannot be kept; run the whole text for each token");
    for (const auto& [name, parameter] :
        nn::parameters_of(model_.model)) { // as constants: nothing is kept for a backward
        const std::size_t rows = parameter.shape().rank() == 0 ? 1 : parameter.shape()[0];
        const bool seen = std::any_of(on_.bound().begin(), on_.bound().end(),
            [&, &p = parameter](const auto& bound) { return bound.parameter == p; });
        if (seen) continue;
        const Array<double> wide = parameter.rows(0, rows);
        Array<T> numbers(wide.shape());
        std::transform(wide.begin(), wide.end(), numbers.begin(), [](double x) { return static_cast<T>(x); });
        on_.bind(parameter, tape_.constant(numbers, name));
    }
    weights_ = tape_.mark();
    kept_.resize(model_.blocks().size());
}

template <class T> Var<T> Decoder<T>::attend(const nn::GroupedAttention& attention, Kept& kept, const Var<T>& x) {
    const nn::GroupedAttentionOptions& o = attention.options;
    Var<T> q = attention.wq(on_, x), k = attention.wk(on_, x), v = attention.wv(on_, x);
    if (o.clip)
        for (Var<T>* const projected : {&q, &k, &v}) *projected = clamp(*projected, -*o.clip, *o.clip);
    const bool whole = o.qk_norm.axis == nn::QkAxis::whole_projection, after = o.qk_norm.after_rope;
    const auto prepared = [&](Var<T> h, const nn::Norm& norm, std::size_t heads) {
        if (whole) h = norm(on_, h);
        h = split_heads(h, heads);
        if (!whole && !after) h = norm(on_, h);
        if (o.rope) {
            RopeOptions here = *o.rope;
            here.offset += static_cast<std::ptrdiff_t>(position_);
            h = rope(h, here);
        }
        return !whole && after ? norm(on_, h) : h;
    };
    q = prepared(q, attention.q_norm, o.heads);
    k = prepared(k, attention.k_norm, o.kv_heads);
    v = split_heads(v, o.kv_heads);

    const std::size_t dropped = o.window && kept.count == *o.window ? 1 : 0, before = kept.count;
    kept.count = before + 1 - dropped;
    const auto keep = [&](std::vector<T>& rows, const Var<T>& one) {
        const std::size_t features = one.shape().last();
        for (std::size_t h = o.kv_heads; h-- > 0;) {
            const auto first = rows.begin() + static_cast<std::ptrdiff_t>(h * before * features);
            rows.insert(first + static_cast<std::ptrdiff_t>(before * features), one.data() + h * features,
                one.data() + (h + 1) * features);
            const auto old = rows.begin() + static_cast<std::ptrdiff_t>(h * before * features);
            rows.erase(old, old + static_cast<std::ptrdiff_t>(dropped * features));
        }
        return tape_.leaf<T>(Shape{o.kv_heads, kept.count, features}, rows.data(), false);
    };
    const AttentionOptions scores{.scale = o.scale, .softcap = o.softcap};
    k = keep(kept.keys, k);
    v = keep(kept.values, v);
    const Var<T> y = attention.sinks ? sdpa_sinks(q, k, v, on_(attention.sinks), scores) : sdpa(q, k, v, scores);
    return attention.wo(on_, merge_heads(y));
}

template <class T> Var<T> Decoder<T>::step(std::int64_t id) {
    const nn::Model& m = model_.model;
    tape_.rewind(weights_);
    const auto row = [](std::int64_t i) { return Array<std::int64_t>(std::vector<std::size_t>{1}, i); };
    Var<T> h = m.embedding(on_, row(id));
    if (m.description.embedding_scale != 1) h = m.description.embedding_scale * h;
    if (m.positions) h = h + m.positions(on_, row(static_cast<std::int64_t>(position_)));
    h = m.embedding_norm(on_, h);
    for (std::size_t l = 0; l < kept_.size(); ++l) {
        const nn::Block& block = model_.blocks()[l];
        const auto attended = [&](const Var<T>& u) {
            return attend(std::get<nn::GroupedAttention>(block.attention), kept_[l], u);
        };
        const auto fed = [&](const Var<T>& u) {
            return std::visit([&](const auto& network) { return network(on_, u); }, block.ffn);
        };
        if (block.options.placement == nn::Placement::parallel) {
            const Var<T> u = block.branches[0].norm(on_, h);
            h = h + attended(u) + fed(block.options.shared_norm ? u : block.branches[1].norm(on_, h));
            continue;
        }
        const auto branch = [&](std::size_t k, const auto& f) {
            const auto norm = [&](const Var<T>& u, int which) {
                return (which == 1 ? block.branches[k].norm : block.branches[k].output_norm)(on_, u);
            };
            h = nn::residual(block.options.placement, h, f, norm, block.options.alpha);
        };
        branch(0, attended);
        branch(1, fed);
    }
    ++position_;
    return m.score(on_, model_.final_norm()(on_, h));
}

template class Decoder<double>;
template class Decoder<float>;
template class Decoder<half>;
template class Decoder<bfloat16>;

} // namespace chalkgrad
