// The tensors of each part of a model: norms, attention, FFN, experts, residual streams, and what lies outside the
// blocks.
#include <chalkgrad/nn/models/tensors.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/nn/models/vision_tensors.hpp>

namespace chalkgrad::nn {

std::int64_t checked_product(std::int64_t a, std::int64_t b, std::string_view what) {
    std::int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        throw Error(fmt::format("config: {} has more than 2^63 elements ({} x {}); check the sizes", what, a, b));
    return product;
}

std::int64_t checked_sum(std::int64_t a, std::int64_t b, std::string_view what) {
    std::int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        throw Error(fmt::format("config: {} has more than 2^63 elements ({} + {}); check the sizes", what, a, b));
    return sum;
}

std::int64_t elements(const ModelTensor& tensor) {
    std::int64_t product = 1;
    for (const Extent& extent : tensor.shape) product = checked_product(product, extent.value, tensor.name);
    return product;
}

namespace {

Extent operator*(const Extent& a, const Extent& b) {
    return {checked_product(a.value, b.value, "a matrix"), checked_product(a.factor, b.factor, "a matrix"),
        a.letters + b.letters};
}
Extent letter(char c, std::int64_t value) { return {value, 1, std::string(1, c)}; }
Extent number(std::int64_t value) { return {value, value, ""}; }

/// Collects the tensors of one part.
class Parts {
public:
    explicit Parts(const ModelDescription& model)
        : m_(model),
          d_(letter('d', model.width)),
          H_(letter('H', model.attention.heads)),
          K_(letter('K', model.attention.kv_heads)),
          h_(letter('h', model.attention.head_dim)) {}

    std::vector<ModelTensor> block(const StackFacts& stack, const LayerFacts& layer) {
        attention("attention", layer);
        if (stack.cross_attention) attention("cross_attention", {});
        layer.experts ? experts() : ffn();
        norms(stack.cross_attention);
        if (m_.streams > 1) streams();
        return std::move(tensors_);
    }

    void add(std::string name, std::string_view component, std::vector<Extent> shape, bool routed = false) {
        tensors_.push_back({std::move(name), component, std::move(shape), routed});
    }

    /// A norm over `width` features: its gain and bias, as far as it has them.
    void norm(const std::string& name, std::string_view component, const Extent& width) {
        if (m_.norm.gain != "none") add(name + ".gain", component, {width});
        if (m_.norm.bias) add(name + ".bias", component, {width});
    }

    std::vector<ModelTensor> take() { return std::move(tensors_); }

private:
    void norms(bool cross) {
        std::vector<std::string> names = {"attention_norm", "ffn_norm"};
        if (m_.placement == Placement::peri)
            names = {"attention_norm", "attention_output_norm", "ffn_norm", "ffn_output_norm"};
        if (m_.placement == Placement::parallel && m_.parallel_norms == 1) names = {"norm"};
        if (cross) names.insert(names.begin() + 1, "cross_attention_norm");
        for (const std::string& name : names) norm(name, "block_norm", d_);
    }

    void linear(const std::string& name, std::string_view component, const Extent& in, const Extent& out, bool bias,
        std::string_view bias_component) {
        add(name + ".weight", component, {in, out});
        if (bias) add(name + ".bias", bias_component, {out});
    }

    void attention(const std::string& scope, const LayerFacts& layer) {
        const AttentionFacts& a = m_.attention;
        const auto name = [&](const char* part) { return scope + "." + part; };
        if (a.latent) {
            a.latent->out_groups > 0 ? shared_key_attention(layer) : latent_attention();
        } else {
            linear(name("q"), "attn", d_, H_ * h_, a.has_bias("q"), "attn_bias");
            linear(name("k"), "attn", d_, K_ * h_, a.has_bias("k"), "attn_bias");
            linear(name("v"), "attn", d_, K_ * h_, a.has_bias("v"), "attn_bias");
            linear(name("o"), "attn", H_ * h_, d_, a.has_bias("o"), "attn_bias");
            const QkNormFacts& norm = a.qk_norm;
            if (norm.learned) {
                const bool whole = norm.axis == "whole_projection" || norm.per_head_gain;
                add(name("q_norm.gain"), "qk_norm", {whole ? H_ * h_ : h_});
                add(name("k_norm.gain"), "qk_norm", {whole ? K_ * h_ : h_});
            }
        }
        if (a.sinks) add(name("sinks"), "sinks", {H_});
        if (layer.relative_table) add(name("relative_bias"), "rel_bias", {number(m_.positions.rows), H_});
    }

    /// DeepSeek-V3: down to a latent vector, its norm, and up to all heads.
    void latent_attention() {
        const LatentFacts& l = *m_.attention.latent;
        const Extent q = letter('q', l.q_rank), c = letter('c', l.kv_rank), r = letter('r', l.rope_dim);
        if (l.q_rank > 0) {
            add("attention.q_down.weight", "attn", {d_, q});
            add("attention.q_norm.gain", "latent_norm", {q});
            add("attention.q_up.weight", "attn", {q, H_ * h_});
        } else {
            add("attention.q.weight", "attn", {d_, H_ * h_});
        }
        add("attention.kv_down.weight", "attn", {d_, c});
        add("attention.k_rope.weight", "attn", {d_, r});
        add("attention.kv_norm.gain", "latent_norm", {c});
        add("attention.k_up.weight", "attn", {c, H_ * letter('n', l.nope_dim)});
        add("attention.v_up.weight", "attn", {c, H_ * letter('v', l.value_dim)});
        add("attention.o.weight", "attn", {H_ * letter('v', l.value_dim), d_});
    }

    /// DeepSeek-V4: one vector is key and value of all heads, the output goes out in groups of low rank; every
    /// `compress` tokens become one key, and where that is 4 an indexer picks among them.
    void shared_key_attention(const LayerFacts& layer) {
        const LatentFacts& l = *m_.attention.latent;
        const Extent q = letter('q', l.q_rank), g = letter('g', l.out_groups), o = letter('o', l.out_rank);
        add("attention.q_down.weight", "attn", {d_, q});
        add("attention.q_norm.gain", "latent_norm", {q});
        add("attention.q_up.weight", "attn", {q, H_ * h_});
        add("attention.kv.weight", "attn", {d_, h_});
        add("attention.kv_norm.gain", "latent_norm", {h_});
        // Group by group, (H h / g, o): together H h o.
        add("attention.o_down.weight", "attn", {H_ * h_, o});
        add("attention.o_up.weight", "attn", {g * o, d_});
        if (layer.compress == 0) return;
        const bool overlapping = layer.compress == 4;
        compressor("attention.compressor", "compressor", h_, layer.compress, overlapping);
        if (!overlapping) return;
        const Extent I = letter('I', l.index_heads), i = letter('i', l.index_dim);
        add("attention.indexer.q_up.weight", "indexer", {q, I * i});
        add("attention.indexer.head_weights.weight", "indexer", {d_, I});
        compressor("attention.indexer.compressor", "indexer", i, layer.compress, true);
    }

    /// Key and weight of each token, a learned offset for each place in the group, and the norm of the result.
    void compressor(const std::string& name, std::string_view component, const Extent& width, std::int64_t tokens,
        bool overlapping) {
        const Extent out = overlapping ? number(2) * width : width;
        add(name + ".kv.weight", component, {d_, out});
        add(name + ".gate.weight", component, {d_, out});
        add(name + ".place", component, {number(tokens), out});
        add(name + ".norm.gain", "latent_norm", {width});
    }

    /// Gate (if there is one), up and down, of `width` hidden features.
    void feed_forward(const std::string& scope, std::string_view component, const Extent& width) {
        const FfnFacts& ffn = m_.ffn;
        if (ffn.gated) linear(scope + ".gate", component, d_, width, ffn.up_bias, "ffn_bias");
        linear(scope + ".up", component, d_, width, ffn.up_bias, "ffn_bias");
        linear(scope + ".down", component, width, d_, ffn.down_bias, "ffn_bias");
    }

    void ffn() { feed_forward("ffn", "ffn", letter('f', m_.ffn.width)); }

    void experts() {
        const ExpertFacts& e = *m_.experts;
        const Extent E = letter('E', e.count), w = letter('m', e.width);
        add("experts.router.weight", "router", {d_, E});
        if (e.router_bias) add("experts.router.bias", "router_bias", {E});
        for (const char* part : {"gate", "up"}) {
            add(fmt::format("experts.{}.weight", part), "experts", {E, d_, w}, true);
            if (e.bias) add(fmt::format("experts.{}.bias", part), "experts_bias", {E, w}, true);
        }
        add("experts.down.weight", "experts", {E, w, d_}, true);
        if (e.bias) add("experts.down.bias", "experts_bias", {E, d_}, true);
        if (e.shared_width > 0) feed_forward("shared_expert", "shared_expert", letter('s', e.shared_width));
    }

    /// mHC: before each sublayer, n + n + n·n mixing numbers from all streams at once (n streams of d features).
    void streams() {
        const Extent n = letter('n', m_.streams);
        const std::int64_t mixes = checked_product(m_.streams, checked_sum(2, m_.streams, "mhc"), "mhc");
        for (const char* site : {"attention_mixing", "ffn_mixing"}) {
            add(fmt::format("{}.weight", site), "mhc", {n * d_, number(mixes)});
            add(fmt::format("{}.base", site), "mhc", {number(mixes)});
            add(fmt::format("{}.scale", site), "mhc", {number(3)});
        }
    }

    const ModelDescription& m_;
    Extent d_, H_, K_, h_;
    std::vector<ModelTensor> tensors_;
};

std::string_view mtp_component(std::string_view component) {
    static const std::vector<std::pair<std::string_view, std::string_view>> names = {{"block_norm", "block_norm_mtp"},
        {"attn", "attn_mtp"}, {"latent_norm", "latent_norm_mtp"}, {"router", "router_mtp"}, {"experts", "experts_mtp"},
        {"shared_expert", "shared_expert_mtp"}, {"ffn", "ffn_mtp"}};
    for (const auto& [plain, own] : names)
        if (plain == component) return own;
    return component;
}

/// A block more that predicts the token after the next: it joins the last state and the next token's embedding.
BlockTensors prediction_block(const ModelDescription& m) {
    const Extent d = letter('d', m.width);
    BlockTensors block{fmt::format("{}.{}", m.stacks[0].path, m.stacks[0].layers.size()),
        block_tensors(m, m.stacks[0], {.experts = true}), 1};
    Parts more(m);
    more.norm("embedding_norm", "block_norm", d);
    more.norm("state_norm", "block_norm", d);
    for (ModelTensor& tensor : more.take()) block.tensors.push_back(std::move(tensor));
    for (ModelTensor& tensor : block.tensors) tensor.component = mtp_component(tensor.component);
    block.tensors.push_back({"join.weight", "eh_proj_mtp", {number(2) * d, d}});
    block.tensors.push_back({"final_norm.gain", "final_norm_mtp", {d}});
    return block;
}

void add_blocks(const ModelDescription& m, ModelTensors& all) {
    for (const StackFacts& stack : m.stacks) {
        std::vector<std::pair<LayerFacts, std::size_t>> known; // kinds of layers, and where their block is
        for (std::size_t i = 0; i < stack.layers.size(); ++i) {
            LayerFacts kind = stack.layers[i];
            kind.sliding = kind.hash_routed = false; // these change what a layer does, not what it learns
            kind.rope = true;
            const auto same = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == kind; });
            if (same != known.end()) {
                ++all.blocks[same->second].copies;
                continue;
            }
            known.emplace_back(kind, all.blocks.size());
            all.blocks.push_back({fmt::format("{}.{}", stack.path, i), block_tensors(m, stack, kind), 1});
        }
    }
    for (std::int64_t i = 0; i < m.extra_layers; ++i) all.blocks.push_back(prediction_block(m));
}

void add_outer(const ModelDescription& m, ModelTensors& all) {
    const Extent V = letter('V', m.vocabulary), d = letter('d', m.width), P = letter('P', m.positions.rows);
    Parts parts(m);
    if (m.patch > 0) {
        parts.add("class_token", "pos_embed", {d});
        const std::int64_t pixels =
            checked_product(checked_product(m.patch, m.patch, "patches"), m.channels, "patches");
        parts.add("patches.weight", "embed", {number(pixels), d});
        parts.add("patches.bias", "embed_bias", {d});
    } else {
        parts.add("embedding.weight", "embed", {V, d});
    }
    if (m.positions.kind == "learned") parts.add("positions.weight", "pos_embed", {P, d});
    if (m.type_rows > 0) parts.add("types.weight", "type_embed", {number(m.type_rows), d});
    if (m.embedding_norm) parts.norm("embedding_norm", "embed_norm", d);
    if (m.final_norm)
        for (const StackFacts& stack : m.stacks)
            parts.norm(m.stacks.size() == 1 ? "final_norm" : stack.path.substr(0, stack.path.find('.')) + ".final_norm",
                "final_norm", d);
    if (m.streams > 1) {
        const Extent n = letter('n', m.streams);
        parts.add("head_mixing.weight", "mhc", {n * d, n});
        parts.add("head_mixing.base", "mhc", {n});
        parts.add("head_mixing.scale", "mhc", {number(1)});
    }
    if (m.pooler) {
        parts.add("pooler.weight", "pooler", {d, d});
        parts.add("pooler.bias", "pooler", {d});
    }
    if (m.head == "vocabulary" && !m.tied) parts.add("head.weight", "lm_head", {d, V});
    if (m.head_bias) parts.add("head.bias", "lm_head_bias", {V});
    if (m.head == "classes") {
        parts.add("head.weight", "lm_head", {d, number(m.classes)});
        parts.add("head.bias", "lm_head", {number(m.classes)});
    }
    all.outer = parts.take();
    if (m.vision) add_vision_tensors(*m.vision, m.width, all.outer);

    const std::int64_t table = checked_product(m.vocabulary, m.width, "the embedding");
    if (m.tied) all.aliases.push_back({"the output head, tied to the embedding", table});
    if (m.extra_layers > 0)
        all.aliases.push_back(
            {"embedding and head, shared with multi-token prediction", checked_product(2, table, "the embedding")});
}

void add_buffers(const ModelDescription& m, ModelTensors& all) {
    if (!m.experts) return;
    std::int64_t corrected = m.extra_layers, hashed = 0;
    for (const LayerFacts& layer : m.stacks[0].layers) (layer.hash_routed ? hashed : corrected) += layer.experts;
    if (m.experts->correction_buffer && corrected > 0)
        all.buffers.push_back(
            {"correction of the experts' choice", checked_product(corrected, m.experts->count, "a buffer")});
    if (hashed > 0)
        all.buffers.push_back({"frozen tables that route by token",
            checked_product(hashed, checked_product(m.vocabulary, m.experts->chosen, "a buffer"), "a buffer")});
}

std::vector<Letter> letters_of(const ModelDescription& m) {
    const AttentionFacts& a = m.attention;
    const LatentFacts l = a.latent.value_or(LatentFacts{});
    const ExpertFacts e = m.experts.value_or(ExpertFacts{});
    const bool grouped = !a.latent;
    return {{'V', "vocabulary", m.vocabulary}, {'P', "positions", m.positions.kind == "learned" ? m.positions.rows : 0},
        {'d', "width", m.width},
        {'n', m.streams > 1 ? "residual streams" : "head width without rotation",
            m.streams > 1 ? m.streams : l.nope_dim},
        {'H', "query heads", a.heads}, {'K', "KV heads", grouped ? a.kv_heads : 0}, {'h', "head width", a.head_dim},
        {'q', "query rank", l.q_rank}, {'c', "KV rank", l.kv_rank},
        {'r', "rotated head width", l.kv_rank > 0 ? l.rope_dim : 0}, {'v', "value head width", l.value_dim},
        {'g', "output groups", l.out_groups}, {'o', "output rank", l.out_rank}, {'I', "indexer heads", l.index_heads},
        {'i', "indexer head width", l.index_dim}, {'f', "FFN width", m.ffn.width}, {'E', "experts", e.count},
        {'m', "expert width", e.width}, {'s', "shared experts' width", e.shared_width}};
}

} // namespace

std::vector<ModelTensor> block_tensors(
    const ModelDescription& model, const StackFacts& stack, const LayerFacts& layer) {
    return Parts(model).block(stack, layer);
}

ModelTensors tensors_of(const ModelDescription& model) {
    ModelTensors all;
    add_outer(model, all);
    add_blocks(model, all);
    add_buffers(model, all);
    for (const Letter& each : letters_of(model))
        if (each.value > 0) all.letters.push_back(each);
    return all;
}

} // namespace chalkgrad::nn
