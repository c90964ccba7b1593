// A Transformer block in every placement.
#include <chalkgrad/nn/layers/block.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace chalkgrad::nn {
namespace {

BlockOptions completed(BlockOptions o) {
    if (o.d == 0) throw Error("block: d is 0; give the number of features of the residual stream");
    const auto take = [&](std::size_t& d, const char* part) {
        if (d == 0) d = o.d;
        if (d != o.d)
            throw Error(
                fmt::format("block: {} has {} features and the residual stream {}; they must agree", part, d, o.d));
    };
    take(o.attention.d, "attention");
    std::visit(
        [&](auto& latent) {
            if constexpr (requires { latent.d; }) take(latent.d, "attention");
        },
        o.latent);
    take(o.experts ? o.experts->expert.d : o.ffn.d, "ffn");
    if (o.cross) take(o.cross->d, "cross");
    if (o.cross && o.cross->causal)
        throw Error("block: cross-attention is causal; its keys are another sequence's: set causal = false");
    if (o.cross && o.placement == Placement::parallel)
        throw Error("block: a parallel block has two branches; it has no place for cross-attention");
    return o;
}

/// Name of a branch's norm: what Peri and output-only call it says where it is.
std::string norm_name(Placement placement, std::size_t k, bool output) {
    const bool says = placement == Placement::peri || placement == Placement::output_only;
    return fmt::format("norm{}{}", k, !says ? "" : output ? "_out" : "_in");
}

} // namespace

BlockOptions vision_block_options(std::size_t d, std::size_t heads, std::size_t width) {
    return {.d = d,
        .norm = layer_norm_options(1e-6),
        .attention = {.heads = heads, .q_bias = true, .k_bias = true, .v_bias = true, .o_bias = true, .causal = false},
        .ffn = {.width = width, .activation = Activation::gelu, .gated = false, .bias = true}};
}

Block::Block(const BlockOptions& given) : options(completed(given)) {
    const auto& o = options;
    if (o.own_attention) attention = o.own_attention.at(o.d);
    else if (const auto* latent = std::get_if<LatentAttentionOptions>(&o.latent)) attention = LatentAttention(*latent);
    else if (const auto* key = std::get_if<SharedKeyAttentionOptions>(&o.latent)) attention = SharedKeyAttention(*key);
    else attention = GroupedAttention(o.attention);
    if (o.cross) cross = GroupedAttention(*o.cross);
    if (o.own_ffn) ffn = o.own_ffn.at(o.d);
    else if (o.experts) ffn = Moe(*o.experts);
    else ffn = Ffn(o.ffn);
    for (std::size_t k = 1; k <= (cross ? 3u : 2u); ++k) {
        Branch branch;
        const bool only_output = o.placement == Placement::output_only;
        if (!(o.placement == Placement::parallel && o.shared_norm && k == 2))
            branch.norm = Norm(norm_name(o.placement, k, only_output), o.d, o.norm);
        if (o.placement == Placement::peri) branch.output_norm = Norm(norm_name(o.placement, k, true), o.d, o.norm);
        if (o.placement == Placement::mhc) branch.streams.emplace(o.d, o.streams);
        branches.push_back(std::move(branch));
    }
}

template <class T>
Var<T> Block::operator()(Binding<T>& on, const Var<T>& x, const Var<T>& mask, const Var<T>& memory) const {
    const auto attend = [&](const Var<T>& u) {
        const auto* const grouped = std::get_if<GroupedAttention>(&attention);
        if (mask && !grouped)
            throw Error(
                "block: a mask is given, and only grouped attention takes one; attention through latent vectors, or of "
                "your own, makes its own");
        if (const auto* own = std::get_if<AnyModule>(&attention)) return (*own)(on, u);
        const Scope scope = on.scope("attention", Role::attention);
        if (grouped) return (*grouped)(on, u, mask);
        return std::visit([&](const auto& module) { return module(on, u); }, attention);
    };
    const auto look_up = [&](const Var<T>& u) {
        const Scope scope = on.scope("cross", Role::attention);
        return (*cross)(on, u, {}, memory);
    };
    const auto* const network = std::get_if<Ffn>(&ffn);
    const bool plain = network != nullptr && !network->options.gated;
    const auto feed = [&](const Var<T>& u) {
        if (const auto* own = std::get_if<AnyModule>(&ffn)) return (*own)(on, u);
        const Scope scope = on.scope("ffn", plain ? Role::activation : Role::gate);
        return std::visit([&](const auto& module) { return module(on, u); }, ffn);
    };
    if (options.placement == Placement::parallel) {
        const Var<T> u = branches[0].norm(on, x);
        const Var<T> a = attend(u);
        const Var<T> f = feed(options.shared_norm ? u : branches[1].norm(on, x));
        return x + a + f;
    }
    const auto step = [&](std::size_t k, const Var<T>& h, const auto& f) {
        const Branch& branch = branches[k];
        if (branch.streams)
            return (*branch.streams)(
                on, fmt::format("mhc{}", k + 1), h, [&](const Var<T>& u) { return f(branch.norm(on, u)); });
        const auto norm = [&](const Var<T>& u, int which) {
            return (which == 1 ? branch.norm : branch.output_norm)(on, u);
        };
        return residual(options.placement, h, f, norm, options.alpha);
    };
    if (cross && !memory) throw Error("block: it has cross-attention, and no memory was given");
    Var<T> h = step(0, x, attend);
    if (cross) h = step(1, h, look_up);
    return step(branches.size() - 1, h, feed);
}

template <class T> Var<T> Block::attention_weights(Binding<T>& on, const Var<T>& x, const Var<T>& mask) const {
    const auto* const grouped = std::get_if<GroupedAttention>(&attention);
    if (grouped == nullptr || options.placement == Placement::mhc)
        throw Error("block: attention_weights() needs one stream, and attention without latent vectors");
    const bool normed = options.placement == Placement::pre || options.placement == Placement::peri ||
                        options.placement == Placement::parallel;
    return grouped->weights(on, normed ? branches[0].norm(on, x) : x, mask);
}

void Block::visit(const Visitor& v) const {
    const auto visit = [&](const char* name, const auto& modules) {
        if (const auto* own = std::get_if<AnyModule>(&modules)) v(*own);
        else std::visit([&](const auto& module) { v(name, module); }, modules);
    };
    visit("attention", attention);
    if (cross) v("cross", *cross);
    visit("ffn", ffn);
    for (std::size_t k = 0; k < branches.size(); ++k) {
        const Branch& branch = branches[k];
        v(branch.norm.name, branch.norm);
        v(branch.output_norm.name, branch.output_norm);
        if (branch.streams) v(fmt::format("mhc{}", k + 1), *branch.streams);
    }
}

Block rebuilt(const Block& block, const BlockOptions& options) {
    Block made(options);
    const auto of_parts = [](const Block& b) {
        std::vector<NamedParameter> list;
        const Visitor::Action add = [&](const std::string& name, const Parameter& p) { list.push_back({name, p}); };
        const Visitor v(add);
        std::visit([&](const auto& module) { v("attention", module); }, b.attention);
        if (b.cross) v("cross", *b.cross);
        std::visit([&](const auto& network) { v("ffn", network); }, b.ffn);
        for (std::size_t k = 0; k < b.branches.size(); ++k) { // wherever the placement puts it
            v(fmt::format("norm{}", k + 1), b.branches[k].norm);
            v(fmt::format("output_norm{}", k + 1), b.branches[k].output_norm);
            if (b.branches[k].streams) v(fmt::format("mhc{}", k + 1), *b.branches[k].streams);
        }
        return list;
    };
    const std::vector<NamedParameter> old = of_parts(block);
    Generator rng(0);
    for (const auto& [name, parameter] : of_parts(made)) {
        const auto same = std::find_if(old.begin(), old.end(), [&, &name = name, &p = parameter](const auto& one) {
            return one.name == name && one.parameter.shape() == p.shape();
        });
        if (same != old.end()) parameter.take(same->parameter);
        else if (parameter.init().kind == Init::Kind::constant)
            parameter.assign(parameter.init().draw(parameter.shape(), rng));
        else
            throw Error(
                fmt::format("block: under the new options it has '{}' of shape {}, for which there are no numbers",
                    name, to_string(parameter.shape())));
    }
    return made;
}

void set_deepnorm_init(const Block& block, double beta) {
    const Visitor::Action set = [&](const std::string& name, const Parameter& p) {
        if (p.shape().rank() < 2 || p.component() == "router" || p.component() == "mhc" || p.component() == "qk_norm")
            return;
        const bool scores = name.ends_with("wq") || name.ends_with("wk");
        const std::size_t rank = p.shape().rank();
        p.set_init(xavier_normal(p.shape()[rank - 2], p.shape()[rank - 1], scores ? 1 : beta));
    };
    block.visit(Visitor(set));
}

void set_depth_scaled_init(const Block& block, std::size_t layers) {
    const Visitor::Action set = [&](const std::string& name, const Parameter& p) {
        for (const char* last : {".wo", ".wo_up", ".w_down", ".w2"}) // these write into the residual stream
            if (name.ends_with(last)) p.set_init(depth_scaled(p.shape()[p.shape().rank() - 2], layers));
    };
    block.visit(Visitor(set));
}

CHALKGRAD_INSTANCES(Block::operator(), Block::attention_weights)

} // namespace chalkgrad::nn
