// Attention through low-rank vectors: DeepSeek-V3's; and V4's, with compressed groups of tokens and an indexer that picks among them.
#include <chalkgrad/nn/layers/latent_attention.hpp>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/nn/core/ops.hpp>
#include <chalkgrad/ops/attention/heads.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>

namespace chalkgrad::nn {

LatentAttention::LatentAttention(const LatentAttentionOptions& its_options) : options(its_options) {
    const auto& o = options;
    if (o.rope_dim == 0 || o.rope_dim % 2 != 0)
        throw Error(fmt::format("latent attention: rope_dim is {}; it must be even and at least 2", o.rope_dim));
    const std::size_t head = o.nope_dim + o.rope_dim;
    const NormOptions norm{.eps = o.eps, .cast = Cast::before_weight};
    if (o.q_rank > 0) {
        wq_down = Linear("wq_down", o.d, o.q_rank, false, "attn");
        q_norm = Norm("q_norm", o.q_rank, norm, "latent_norm");
    }
    wq_up = Linear(o.q_rank > 0 ? "wq_up" : "wq", o.q_rank > 0 ? o.q_rank : o.d, o.heads * head, false, "attn");
    wkv_down = Linear("wkv_down", o.d, o.kv_rank, false, "attn");
    wk_rope = Linear("wk_rope", o.d, o.rope_dim, false, "attn");
    kv_norm = Norm("kv_norm", o.kv_rank, norm, "latent_norm");
    wk_up = Linear("wk_up", o.kv_rank, o.heads * o.nope_dim, false, "attn");
    wv_up = Linear("wv_up", o.kv_rank, o.heads * o.value_dim, false, "attn");
    wo = Linear("wo", o.heads * o.value_dim, o.d, false, "attn");
}

template <class T> Var<T> LatentAttention::operator()(Binding<T>& on, const Var<T>& x) const {
    const auto& o = options;
    if (x.rank() < 2)
        throw Error(fmt::format("latent attention: x has shape {}; it must be (…, T, {})", to_string(x.shape()), o.d));
    RopeOptions turn = o.rope;
    turn.rotary_dim = o.rope_dim;
    const Var<T> from = wq_down ? q_norm(on, wq_down(on, x)) : x;
    const Var<T> q = rope(split_heads(wq_up(on, from), o.heads), turn);
    const Var<T> c = kv_norm(on, wkv_down(on, x));
    const Var<T> turned = repeat_kv(rope(split_heads(wk_rope(on, x), 1), turn), o.heads);
    const Var<T> k = concat({turned, split_heads(wk_up(on, c), o.heads)}, -1);
    const Var<T> v = split_heads(wv_up(on, c), o.heads);
    return wo(on, merge_heads(sdpa(q, k, v, {.scale = o.scale, .causal = true})));
}

void LatentAttention::visit(const Visitor& v) const {
    v(wq_down);
    v("q_norm", q_norm);
    v(wq_up);
    v(wkv_down);
    v(wk_rope);
    v("kv_norm", kv_norm);
    for (const Linear* map : {&wk_up, &wv_up, &wo}) v(*map);
}

namespace {

/// Indices start … stop − 1 of one axis.
template <class T> Var<T> part(const Var<T>& x, std::size_t axis, std::size_t start, std::size_t stop) {
    std::vector<Index> indices(x.rank(), Range{});
    indices[axis] = Range{.start = extent(start), .stop = extent(stop)};
    return slice(x, indices);
}

/// A constant of one number.
template <class T> Var<T> filled(const Tape& tape, const Shape& shape, double number, const char* name) {
    if (tape.shapes_only()) return tape.leaf<T>(shape, nullptr, false, name);
    const std::vector<T> numbers(shape.size(), static_cast<T>(number));
    return tape.leaf<T>(shape, numbers.data(), false, name);
}

} // namespace

Compressor::Compressor(std::size_t d, std::size_t its_width, std::size_t its_tokens, bool overlaps, double eps,
    const std::string& component)
    : tokens(its_tokens), width(its_width), overlapping(overlaps) {
    const std::size_t out = overlapping ? 2 * width : width;
    w_kv = Linear("w_kv", d, out, false, component);
    w_gate = Linear("w_gate", d, out, false, component);
    place = Parameter("place", {tokens, out}, component, constant(0));
    norm = Norm("norm", width, {.eps = eps, .cast = Cast::before_weight}, "latent_norm");
}

template <class T> Var<T> Compressor::operator()(Binding<T>& on, const Var<T>& x) const {
    const std::size_t groups = x.shape()[0] / tokens;
    const Var<T> whole = part(x, 0, 0, groups * tokens);
    const auto grouped = [&](const Var<T>& y) { return reshape(y, {extent(groups), extent(tokens), -1}); };
    Var<T> k = grouped(w_kv(on, whole)), g = grouped(w_gate(on, whole)) + on(place);
    if (overlapping) {
        // The first half of the columns reaches back one group; before the first there is nothing.
        const auto with_previous = [&](const Var<T>& y, double nothing) {
            const Var<T> back = part(y, 2, 0, width), here = part(y, 2, width, 2 * width);
            const Var<T> none = filled<T>(x.tape(), {1, tokens, width}, nothing, "before the start");
            const Var<T> previous = groups == 1 ? none : concat({none, part(back, 0, 0, groups - 1)}, 0);
            return concat({previous, here}, 1);
        };
        k = with_previous(k, 0);
        g = with_previous(g, -HUGE_VAL);
    }
    return norm(on, sum(softmax(g, 1) * k, 1));
}

void Compressor::visit(const Visitor& v) const {
    v(w_kv);
    v(w_gate);
    v(place);
    v("norm", norm);
}

SharedKeyAttention::SharedKeyAttention(const SharedKeyAttentionOptions& its_options) : options(its_options) {
    const auto& o = options;
    if (o.rope_dim == 0 || o.rope_dim % 2 != 0 || o.rope_dim > o.head_dim)
        throw Error(fmt::format(
            "shared-key attention: rope_dim is {}; it must be even, and at most head_dim {}", o.rope_dim, o.head_dim));
    if (o.out_groups == 0 || o.heads % o.out_groups != 0)
        throw Error(fmt::format("shared-key attention: {} heads do not divide into {} groups", o.heads, o.out_groups));
    const NormOptions norm{.eps = o.eps, .cast = Cast::before_weight};
    wq_down = Linear("wq_down", o.d, o.q_rank, false, "attn");
    q_norm = Norm("q_norm", o.q_rank, norm, "latent_norm");
    wq_up = Linear("wq_up", o.q_rank, o.heads * o.head_dim, false, "attn");
    q_head_norm = Norm("q_head_norm", o.head_dim, {.gain = NormGain::none, .eps = o.eps});
    wkv = Linear("wkv", o.d, o.head_dim, false, "attn");
    kv_norm = Norm("kv_norm", o.head_dim, norm, "latent_norm");
    const std::size_t group = o.heads * o.head_dim / o.out_groups;
    wo_down = Parameter("wo_down", {o.out_groups, group, o.out_rank}, "attn", fan_in(group));
    wo_up = Linear("wo_up", o.out_groups * o.out_rank, o.d, false, "attn");
    sinks = Parameter("sinks", {o.heads}, "sinks", constant(0));
    if (o.compress == 0) return;
    compressor.emplace(o.d, o.head_dim, o.compress, o.compress == 4, o.eps, "compressor");
    if (o.compress != 4) return;
    wq_index = Linear("wq", o.q_rank, o.index_heads * o.index_dim, false, "indexer");
    w_index = Linear("w_heads", o.d, o.index_heads, false, "indexer");
    index_compressor.emplace(o.d, o.index_dim, o.compress, true, o.eps, "indexer");
}

template <class T>
Var<T> SharedKeyAttention::mask(Binding<T>& on, const Var<T>& x, const Var<T>& q_latent, std::size_t groups) const {
    const auto& o = options;
    const std::size_t tokens = x.shape()[0];
    Var<T> scores; // Σ_heads w relu(q · c), (T, groups)
    if (index_compressor && groups > 0) {
        const Scope scope = on.scope("indexer");
        const Var<T> q = split_heads(wq_index(on, q_latent), o.index_heads);
        const Var<T> c = (*index_compressor)(on, x);
        const Var<T> weights = reshape(transpose(w_index(on, x)), {extent(o.index_heads), extent(tokens), 1});
        scores = sum(weights * relu(matmul(q, transpose(c))), 0);
    }
    const Tape tape = x.tape();
    const Shape shape{tokens, tokens + groups};
    if (tape.shapes_only()) return tape.leaf<T>(shape, nullptr, false, "seen");
    std::vector<T> seen(shape.size(), T(-HUGE_VAL));
    for (std::size_t t = 0; t < tokens; ++t) {
        T* const row = seen.data() + t * (tokens + groups);
        for (std::size_t j = 0; j <= t; ++j)
            if (o.window == 0 || t - j < o.window) row[j] = T(0);
        const std::size_t before = o.compress == 0 ? 0 : std::min(groups, (t + 1) / o.compress);
        std::vector<std::size_t> order(before);
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (scores && before > o.index_keys) {
            const T* const its = scores.data() + t * groups;
            std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return its[a] > its[b]; });
            order.resize(o.index_keys);
        }
        for (const std::size_t j : order) row[tokens + j] = T(0);
    }
    return tape.leaf<T>(shape, seen.data(), false, "seen");
}

template <class T> Var<T> SharedKeyAttention::operator()(Binding<T>& on, const Var<T>& x) const {
    const auto& o = options;
    if (x.rank() != 2)
        throw Error(fmt::format("shared-key attention: x has shape {}; it must be (T, {})", to_string(x.shape()), o.d));
    const std::size_t tokens = x.shape()[0];
    RopeOptions turn = o.rope;
    turn.rotary_dim = o.rope_dim;
    const Var<T> latent = q_norm(on, wq_down(on, x));
    const Var<T> q = rope(q_head_norm(on, split_heads(wq_up(on, latent), o.heads)), turn);
    Var<T> keys = rope(kv_norm(on, wkv(on, x)), turn);
    std::size_t groups = compressor ? tokens / o.compress : 0;
    if (groups > 0) {
        const Scope scope = on.scope("compressor");
        keys = concat({keys, rope((*compressor)(on, x), turn)}, 0);
    }
    const Var<T> seen = mask(on, x, latent, groups);
    const Var<T> kv = reshape(keys, {1, extent(tokens + groups), extent(o.head_dim)});
    const Var<T> y = merge_heads(sdpa_sinks(q, kv, kv, on(sinks), {}, seen));
    // Group by group: (groups, T, heads of the group · head_dim) to (groups, T, out_rank).
    const Var<T> down = matmul(split_heads(y, o.out_groups), on(wo_down));
    return wo_up(on, merge_heads(down));
}

void SharedKeyAttention::visit(const Visitor& v) const {
    v(wq_down);
    v("q_norm", q_norm);
    v(wq_up);
    v(wkv);
    v("kv_norm", kv_norm);
    v(wo_down);
    v(wo_up);
    if (compressor) v("compressor", *compressor);
    v(wq_index);
    v(w_index);
    if (index_compressor) v("index_compressor", *index_compressor);
    v(sinks);
}

CHALKGRAD_INSTANCES(LatentAttention::operator(), Compressor::operator())
CHALKGRAD_INSTANCES(SharedKeyAttention::mask, SharedKeyAttention::operator())

} // namespace chalkgrad::nn
