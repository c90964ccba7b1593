// DeepSeek-V3's latent attention.
#include <chalkgrad/nn/layers/latent_attention.hpp>

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

CHALKGRAD_INSTANCES(LatentAttention::operator())

} // namespace chalkgrad::nn
