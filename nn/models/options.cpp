// From facts to the options of modules, and to reduced sizes.
#include <chalkgrad/nn/models/build.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>

namespace chalkgrad::nn {
namespace {

NormOptions norm_options(const NormFacts& norm) {
    return {.kind = norm.kind == "rms" ? NormKind::rms : NormKind::layer,
        .gain = norm.gain == "none" ? NormGain::none
                : norm.gain == "w"  ? NormGain::weight
                                    : NormGain::one_plus_weight,
        .bias = norm.bias,
        .eps = norm.eps,
        .cast = norm.cast == "before_weight" ? Cast::before_weight : Cast::after_weight};
}

QkNormOptions qk_options(const ModelDescription& m, const LayerFacts& layer) {
    const QkNormFacts& qk = m.attention.qk_norm;
    if (qk.axis == "none" || (qk.after_rope && !layer.rope)) return {};
    NormFacts norm = m.norm;
    norm.kind = qk.kind;
    norm.bias = false;
    if (!qk.learned) norm.gain = "none";
    return {.axis = qk.axis == "whole_projection" ? QkAxis::whole_projection
                    : qk.per_head_gain            ? QkAxis::per_head_gains
                                                  : QkAxis::per_head,
        .norm = norm_options(norm),
        .after_rope = qk.after_rope};
}

std::optional<RopeOptions> rope_options(const ModelDescription& m, const LayerFacts& layer) {
    if (m.positions.kind != "rope" || !layer.rope) return {};
    const PositionFacts& p = m.positions;
    const bool local = layer.sliding && p.sliding_base;
    return RopeOptions{.style = p.interleaved ? RopeStyle::interleaved : RopeStyle::halves,
        .base = local ? *p.sliding_base : p.base,
        .rotary_dim = size(p.rotary_dim),
        .stretch = local ? p.sliding_stretch : p.stretch};
}

GroupedAttentionOptions attention_options(const ModelDescription& m, const LayerFacts& layer, bool causal) {
    const AttentionFacts& a = m.attention;
    GroupedAttentionOptions o{.d = size(m.width),
        .heads = size(a.heads),
        .kv_heads = size(a.kv_heads),
        .head_dim = size(a.head_dim),
        .q_bias = a.has_bias("q"),
        .k_bias = a.has_bias("k"),
        .v_bias = a.has_bias("v"),
        .o_bias = a.has_bias("o"),
        .causal = causal,
        .softcap = a.softcap,
        .scale = a.scale,
        .rope = rope_options(m, layer),
        .clip = a.clip,
        .qk_norm = qk_options(m, layer),
        .sinks = a.sinks};
    if (layer.relative_table) o.relative_rows = size(m.positions.rows);
    if (layer.sliding && causal) o.window = size(*a.window); // a window is causal: none that looks both ways is built
    return o;
}

FfnOptions ffn_options(const ModelDescription& m, std::int64_t width, std::string_view packing, bool bias) {
    FfnOptions o{.d = size(m.width), .width = size(width), .gated = m.ffn.gated, .bias = bias};
    if (m.ffn.kind == "gpt_oss") {
        o = gpt_oss_ffn_options(size(m.width), size(width));
        o.swiglu.gate_limit = o.swiglu.up_limit = m.ffn.limit;
        return o;
    }
    o.activation = activation_of(m.ffn.activation);
    if (m.ffn.gated && packing == "contiguous") o.packing = Packing::gate_first;
    if (m.ffn.limit) o.swiglu = {.gate_limit = m.ffn.limit, .up_limit = m.ffn.limit};
    return o;
}

MoeOptions moe_options(const ModelDescription& m) {
    const ExpertFacts& e = *m.experts;
    return {.expert = ffn_options(m, e.width, e.packing, e.bias),
        .experts = size(e.count),
        .per_token = size(e.chosen),
        .scoring = e.scoring == "softmax"   ? Scoring::softmax
                   : e.scoring == "sigmoid" ? Scoring::sigmoid
                                            : Scoring::sqrt_softplus,
        .normalize = e.normalize,
        .scale = e.scale,
        .router_bias = e.router_bias,
        .correction = e.correction_buffer,
        .weight_input = e.weight_input,
        .shared_width = size(e.shared_width)};
}

void set_latent(BlockOptions& o, const ModelDescription& m, const LayerFacts& layer) {
    const LatentFacts& l = *m.attention.latent;
    const RopeOptions rope = *rope_options(m, layer);
    if (l.out_groups == 0) {
        o.latent = LatentAttentionOptions{.heads = size(m.attention.heads),
            .q_rank = size(l.q_rank),
            .kv_rank = size(l.kv_rank),
            .nope_dim = size(l.nope_dim),
            .rope_dim = size(l.rope_dim),
            .value_dim = size(l.value_dim),
            .eps = m.norm.eps,
            .rope = rope,
            .scale = m.attention.scale};
        return;
    }
    o.latent = SharedKeyAttentionOptions{.heads = size(m.attention.heads),
        .head_dim = size(m.attention.head_dim),
        .q_rank = size(l.q_rank),
        .rope_dim = size(l.rope_dim),
        .out_groups = size(l.out_groups),
        .out_rank = size(l.out_rank),
        .window = m.attention.window ? size(*m.attention.window) : 0,
        .compress = size(layer.compress),
        .index_heads = size(l.index_heads),
        .index_dim = size(l.index_dim),
        .index_keys = size(l.index_keys),
        .eps = m.norm.eps,
        .rope = {.style = rope.style, .base = rope.base}};
}

} // namespace

Activation activation_of(std::string_view op) { return op == "gelu_erf" ? Activation::gelu : activation_named(op); }

BlockOptions block_options(const ModelDescription& m, const StackFacts& stack, const LayerFacts& layer) {
    BlockOptions o{.d = size(m.width), .placement = m.placement, .norm = norm_options(m.norm)};
    if (m.attention.latent) set_latent(o, m, layer);
    else o.attention = attention_options(m, layer, stack.causal);
    if (stack.cross_attention) o.cross = attention_options(m, {.rope = false}, false);
    if (layer.experts) o.experts = moe_options(m);
    else o.ffn = ffn_options(m, m.ffn.width, m.ffn.packing, m.ffn.up_bias);
    o.shared_norm = m.parallel_norms != 2;
    if (m.streams > 1)
        o.streams = {.n = size(m.streams), .mixing = Mixing::x_dependent, .sinkhorn = {.iterations = m.mixing_rounds}};
    return o;
}

namespace {

std::int64_t even(std::int64_t n) { return std::max<std::int64_t>(2, n / 2 * 2); }

void reduce_attention(ModelDescription& m) {
    AttentionFacts& a = m.attention;
    const bool square = a.heads * a.head_dim == m.width, grouped = a.kv_heads < a.heads;
    const double turned = static_cast<double>(m.positions.rotary_dim) / static_cast<double>(a.head_dim);
    a.heads = 2;
    a.kv_heads = grouped ? 1 : 2;
    m.width = 8;
    a.head_dim = square ? 4 : 6;
    m.positions.rotary_dim = even(static_cast<std::int64_t>(turned * static_cast<double>(a.head_dim)));
    if (a.window) a.window = 2;
    if (!a.latent) return;
    LatentFacts& l = *a.latent;
    if (l.q_rank > 0) l.q_rank = 3;
    if (l.out_groups > 0) {
        l.out_groups = 2;
        l.out_rank = 3;
        l.index_heads = l.index_dim = 2;
        a.head_dim = 4;
        l.rope_dim = m.positions.rotary_dim = 2;
        return;
    }
    l.kv_rank = 5;
    l.nope_dim = 2;
    l.rope_dim = m.positions.rotary_dim = 2;
    l.value_dim = 3;
    a.head_dim = 4;
}

/// The first layer of each kind, in order. Compression of many tokens becomes compression of three.
void reduce_layers(StackFacts& stack) {
    std::vector<LayerFacts> kinds;
    for (LayerFacts layer : stack.layers) {
        if (layer.compress > 4) layer.compress = 3;
        if (std::find(kinds.begin(), kinds.end(), layer) == kinds.end()) kinds.push_back(layer);
    }
    stack.layers = kinds;
}

} // namespace

Recorded record_blocks(const Tape& tape, const ModelDescription& model) {
    if (!tape.shapes_only())
        throw Error("record_blocks: a whole model's blocks have no numbers; give a tape of shapes only");
    std::int64_t tokens = 16; // enough for every compressed key to exist
    for (const LayerFacts& layer : model.stacks[0].layers) tokens = std::max(tokens, layer.compress);
    const StackFacts& stack = model.stacks[0];
    Shape shape{size(tokens), size(model.width)};
    if (model.streams > 1) shape = {size(model.streams), size(tokens), size(model.width)};
    Recorded result;
    result.inputs.push_back(tape.leaf<double>(shape, nullptr, true, "x"));
    Var<double> memory;
    if (stack.cross_attention) result.inputs.push_back(memory = tape.leaf<double>(shape, nullptr, true, "memory"));
    result.output = result.inputs[0];
    Binding<double> on(tape);
    std::vector<LayerFacts> kinds;
    for (std::size_t i = 0; i < stack.layers.size(); ++i) {
        const LayerFacts& layer = stack.layers[i];
        if (std::find(kinds.begin(), kinds.end(), layer) != kinds.end()) continue;
        kinds.push_back(layer);
        const Scope scope = on.scope(fmt::format("{}.{}", stack.path, i));
        result.output = Block(block_options(model, stack, layer))(on, result.output, {}, memory);
    }
    result.output.named("y");
    for (const auto& bound : on.bound())
        if (bound.parameter.learned()) result.parameters.push_back(bound.line);
    return result;
}

ModelDescription reduced(const ModelDescription& model) {
    ModelDescription m = model;
    if (m.vocabulary > 0) m.vocabulary = 5;
    reduce_attention(m);
    if (m.ffn.width > 0) m.ffn.width = 5;
    if (m.experts) {
        m.experts->count = 3;
        m.experts->chosen = std::min<std::int64_t>(m.experts->chosen, 2);
        m.experts->width = 3;
        if (m.experts->shared_width > 0) m.experts->shared_width = 4;
    }
    for (StackFacts& stack : m.stacks) reduce_layers(stack);
    if (m.positions.rows > 0) m.positions.rows = 9;
    if (m.streams > 1) m.streams = 2;
    if (m.embedding_scale != 1) m.embedding_scale = std::sqrt(8.0);
    if (m.patch > 0) {
        m.image = 4;
        m.patch = 2;
        m.channels = 1;
        m.positions.rows = 5;
        m.classes = 3;
    }
    if (m.vision) {
        VisionFacts& v = *m.vision;
        v.width = 4;
        v.ffn_width = 3;
        v.layers = v.tokens = v.channels = 1;
        v.heads = v.patch = 2;
        v.image = 4;
        if (v.shuffled > 0) {
            v.shuffled = 16;
            v.projector_in = 3;
            v.projector_out = v.out = 4;
        }
    }
    return m;
}

} // namespace chalkgrad::nn
