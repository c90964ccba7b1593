// Grouped-query attention as a module.
#include <chalkgrad/nn/layers/attention.hpp>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/nn/core/ops.hpp>
#include <chalkgrad/ops/attention/heads.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>

namespace chalkgrad::nn {
namespace {

GroupedAttentionOptions completed(GroupedAttentionOptions o) {
    if (o.d == 0 || o.heads == 0)
        throw Error(fmt::format("attention: d is {} with {} heads; both must be at least 1", o.d, o.heads));
    if (o.kv_heads == 0) o.kv_heads = o.heads;
    if (o.heads % o.kv_heads != 0)
        throw Error(
            fmt::format("attention: {} query heads cannot share {} key heads evenly; kv_heads must divide heads",
                o.heads, o.kv_heads));
    if (o.head_dim == 0) {
        if (o.d % o.heads != 0)
            throw Error(fmt::format("attention: {} features do not split into {} heads; give head_dim", o.d, o.heads));
        o.head_dim = o.d / o.heads;
    }
    if (o.value_dim == 0) o.value_dim = o.head_dim;
    if (o.memory_d == 0) o.memory_d = o.d;
    const QkNormOptions& norm = o.qk_norm;
    if (norm.after_rope && (norm.axis == QkAxis::whole_projection || norm.axis == QkAxis::l2))
        throw Error("attention: qk_norm.after_rope goes with QkAxis::per_head and per_head_gains only");
    return o;
}

} // namespace

GroupedAttention::GroupedAttention(const GroupedAttentionOptions& given) : options(completed(given)) {
    const auto& o = options;
    wq = Linear("wq", o.d, o.heads * o.head_dim, o.q_bias, "attn");
    wk = Linear("wk", o.memory_d, o.kv_heads * o.head_dim, o.k_bias, "attn");
    wv = Linear("wv", o.memory_d, o.kv_heads * o.value_dim, o.v_bias, "attn");
    wo = Linear("wo", o.heads * o.value_dim, o.d, o.o_bias, "attn");
    const auto norm = [&](const char* name, std::size_t heads) {
        switch (o.qk_norm.axis) {
            case QkAxis::per_head:
                return Norm(name, o.head_dim, o.qk_norm.norm, "qk_norm");
            case QkAxis::per_head_gains:
                return Norm(name, heads, o.head_dim, o.qk_norm.norm, "qk_norm");
            case QkAxis::whole_projection:
                return Norm(name, heads * o.head_dim, o.qk_norm.norm, "qk_norm");
            default:
                return Norm();
        }
    };
    q_norm = norm("q_norm", o.heads);
    k_norm = norm("k_norm", o.kv_heads);
    if (o.qk_norm.axis == QkAxis::l2) tau = Parameter("tau", Shape(), "qk_norm", constant(o.qk_norm.tau));
    if (o.sinks) sinks = Parameter("sinks", {o.heads}, "sinks", constant(0));
    if (o.relative_rows > 0) relative = Embedding("relative", o.relative_rows, o.heads, "rel_bias");
}

template <class T>
GroupedAttention::Heads<T> GroupedAttention::project(Binding<T>& on, const Var<T>& x, const Var<T>& source) const {
    const auto& o = options;
    if (x.rank() < 2)
        throw Error(fmt::format("attention: x has shape {}; it must be (…, T, {})", to_string(x.shape()), o.d));
    Var<T> q = wq(on, x), k = wk(on, source), v = wv(on, source);
    if (o.clip) {
        q = clamp(q, -*o.clip, *o.clip);
        k = clamp(k, -*o.clip, *o.clip);
        v = clamp(v, -*o.clip, *o.clip);
    }
    const auto normalize = [&] {
        q = q_norm(on, q);
        k = k_norm(on, k);
    };
    const bool whole = o.qk_norm.axis == QkAxis::whole_projection;
    if (whole) normalize();
    q = split_heads(q, o.heads);
    k = split_heads(k, o.kv_heads);
    v = split_heads(v, o.kv_heads);
    if (!whole && !o.qk_norm.after_rope) normalize();
    if (o.rope) {
        q = rope(q, *o.rope);
        k = rope(k, *o.rope);
    }
    if (!whole && o.qk_norm.after_rope) normalize();
    return {q, k, v};
}

template <class T> Var<T> GroupedAttention::attend(Binding<T>& on, const Heads<T>& heads, const Var<T>& mask) const {
    const auto& o = options;
    auto [q, k, v] = heads;
    AttentionOptions scores{.scale = o.scale, .causal = o.causal, .window = o.window, .softcap = o.softcap};
    if (tau) {
        q = on(tau) * l2_normalize(q, o.qk_norm.l2_eps, o.qk_norm.guard);
        k = l2_normalize(k, o.qk_norm.l2_eps, o.qk_norm.guard);
        if (!scores.scale) scores.scale = 1;
    }
    return sinks ? sdpa_sinks(q, k, v, on(sinks), scores, mask) : sdpa(q, k, v, scores, mask);
}

template <class T>
Var<T> GroupedAttention::operator()(Binding<T>& on, const Var<T>& x, const Var<T>& mask, const Var<T>& memory) const {
    return wo(on, merge_heads(attend(on, project(on, x, memory ? memory : x), mask)));
}

template <class T> Var<T> GroupedAttention::weights(Binding<T>& on, const Var<T>& x, const Var<T>& mask) const {
    Heads<T> heads = project(on, x, x);
    Shape shape = heads.v.shape();
    const std::size_t tokens = shape[shape.rank() - 2];
    shape = shape.with(shape.rank() - 1, tokens);
    std::vector<T> units(shape.size(), T(0));
    for (std::size_t row = 0; row < shape.rows(); ++row) units[row * tokens + row % tokens] = T(1);
    heads.v = on.tape().template leaf<T>(shape, on.tape().shapes_only() ? nullptr : units.data(), false, "units");
    return attend(on, heads, mask);
}

void GroupedAttention::visit(const Visitor& v) const {
    for (const Linear* projection : {&wq, &wk, &wv, &wo}) v(*projection);
    v("q_norm", q_norm);
    v("k_norm", k_norm);
    v(tau);
    v(sinks);
    v(relative);
}

CHALKGRAD_INSTANCES(GroupedAttention::operator(), GroupedAttention::weights)

} // namespace chalkgrad::nn
