// The names of a manifest that are modules.
#include <chalkgrad/experiments/reference/parity.hpp>

#include <fmt/format.h>

#include <chalkgrad/nn/layers/stack.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad::nn {
namespace {

template <class T> std::size_t count(Arguments<T>& c, const char* name) {
    const std::ptrdiff_t n = c.integer(name);
    if (n < 1) throw Error(fmt::format("parity: attribute '{}' is {}; it must be at least 1", name, n));
    return static_cast<std::size_t>(n);
}

/// What a manifest calls a parameter: "layers.0.norm1_gamma" for our "layers.0.norm1.gamma", "wq" for "attention.wq".
std::string name_in_manifest(std::string name) {
    const auto replace = [&](std::string_view from, std::string_view to) {
        if (const std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    };
    for (const char* module : {"attention.", "ffn."}) replace(module, "");
    for (const char* module : {"q", "k"}) replace(fmt::format("{}_norm.", module), fmt::format("{}_", module));
    for (const char* parameter : {"gamma", "beta", "pre", "post", "res"})
        replace(fmt::format(".{}", parameter), fmt::format("_{}", parameter));
    return name;
}

/// Calls a module whose parameters are the case's inputs.
template <class T, class Module> Var<T> call(Arguments<T>& c, const Module& module) {
    Binding<T> on(c.tape());
    const Var<T> x = c.in("x");
    for (const auto& [name, parameter] : parameters_of(module)) on.bind(parameter, c.in(name_in_manifest(name)));
    return module(on, x);
}

/// "gpt_oss" is SwiGLU with its constants; every other word is an activation.
FfnOptions network(const std::string& word, bool gated, std::size_t d, std::size_t width, double alpha, double limit) {
    FfnOptions o{.d = d, .width = width, .gated = gated};
    if (word == "gpt_oss") o.swiglu = {.alpha = alpha, .gate_limit = limit, .up_limit = limit, .shift_up = 1};
    else o.activation = activation_named(word);
    return o;
}

const auto mlp = [](auto& c) {
    const bool gated = static_cast<bool>(c.maybe("w_gate"));
    const auto w = c.in(gated ? "w_gate" : "w1");
    if (w.rank() != 2)
        throw Error(fmt::format("parity: the first matrix has shape {}; it must be (d, width)", to_string(w.shape())));
    const std::string act = c.word("act");
    const double alpha = c.number("alpha", 1.702), limit = c.number("limit", 7);
    return call(c, Ffn(network(act, gated, w.shape()[0], w.shape()[1], alpha, limit)));
};

template <class T> BlockOptions block_options(Arguments<T>& c) {
    c.ignore({"T"});
    BlockOptions o{.d = count(c, "d"), .placement = placement_named(c.word("placement"))};
    const double eps = c.number("eps");
    o.norm = c.word("norm", "rms") == "layer" ? layer_norm_options(eps) : NormOptions{.eps = eps};
    o.alpha = c.number("residual_alpha", 1);

    GroupedAttentionOptions& a = o.attention;
    a.heads = count(c, "hq");
    a.kv_heads = count(c, "hkv");
    a.head_dim = count(c, "dh");
    a.causal = c.flag("causal", true);
    a.softcap = c.limit("softcap");
    if (const auto window = c.maybe_integer("window")) a.window = static_cast<std::size_t>(*window);
    a.sinks = c.flag("sinks", false);
    if (const std::string style = c.word("rope", "none"); style != "none")
        a.rope = RopeOptions{.style = style == "half" ? RopeStyle::halves : RopeStyle::interleaved,
            .base = c.number("rope_base", 10000)};
    const std::string axis = c.word("qk_norm", "none");
    a.qk_norm = {.axis = axis == "per_head" ? QkAxis::per_head
                         : axis == "whole"  ? QkAxis::whole_projection
                                            : QkAxis::none,
        .norm = {.eps = eps}};

    o.ffn = network(c.word("ffn"), true, o.d, count(c, "d_ff"), 1.702, 7);
    if (o.placement == Placement::mhc)
        o.streams = {.n = count(c, "streams"),
            .sinkhorn = sinkhorn_options("parity", c.integer("sinkhorn_k"), c.word("sinkhorn_order"), "unrolled")};
    return o;
}

const auto block = [](auto& c) { return call(c, Block(block_options(c))); };
const auto stack3 = [](auto& c) {
    const BlockOptions o = block_options(c);
    const NormOptions last =
        c.flag("final_norm", false) ? NormOptions{.eps = o.norm.eps} : NormOptions{.kind = NormKind::none};
    return call(c, Stack(count(c, "layers"), o, last));
};

} // namespace

const std::vector<CatalogEntry>& parity_modules() {
    static const std::vector<CatalogEntry> entries = {entry("ffn_mlp", "act(x W1) W2", "§8", mlp),
        entry("swiglu_mlp", "(silu(x Wg) * (x Wu)) Wd", "§9", mlp),
        entry("reglu_mlp", "(relu(x Wg) * (x Wu)) Wd", "§9", mlp),
        entry("geglu_mlp", "(gelu(x Wg) * (x Wu)) Wd", "§9", mlp),
        entry("geglu_tanh_mlp", "(gelu_tanh(x Wg) * (x Wu)) Wd", "§9", mlp),
        entry("gpt_oss_mlp", "gpt-oss's gate between two matrices", "§9", mlp),
        entry("block", "attention and FFN in any placement", "§6", block),
        entry("stack3", "blocks and a final norm", "§6", stack3)};
    return entries;
}

} // namespace chalkgrad::nn
