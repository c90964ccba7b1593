// Facts of a model_type that depend on its own fields in a way no column of the table says.
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/nn/models/types.hpp>

namespace chalkgrad::nn::special {
namespace {

constexpr std::int64_t most_compressed = 10'000;

void set_placement(ModelDescription& m, Placement placement, int parallel_norms = 0) {
    m.placement = placement;
    m.parallel_norms = parallel_norms;
}

void warn(ModelDescription& m, std::string text) { m.warnings.push_back(std::move(text)); }

/// Every fourth layer goes without rotation, unless fields say otherwise.
void set_rope_layers(const ConfigFields& fields, ModelDescription& m) {
    std::vector<LayerFacts>& layers = m.stacks[0].layers;
    const std::vector<bool> listed = fields.flags("no_rope_layers"); // 1: this layer has RoPE, in spite of the name
    if (!listed.empty() && listed.size() != layers.size())
        fields.refuse(fmt::format("no_rope_layers has {} entries for {} layers", listed.size(), layers.size()));
    const auto every = static_cast<std::size_t>(fields.count("no_rope_layer_interval", 4));
    for (std::size_t i = 0; i < layers.size(); ++i)
        layers[i].rope = listed.empty() ? every == 0 || (i + 1) % every != 0 : listed[i];
}

/// An encoder and a decoder, which also attends to the encoder's output.
void set_two_stacks(const ConfigFields& fields, ModelDescription& m, const char* decoder, std::int64_t decoder_layers,
    const char* encoder, std::int64_t encoder_layers, bool relative_tables) {
    if (!fields.flag("is_encoder_decoder", true))
        warn(m, "is_encoder_decoder is false, but this type is both: an encoder and a decoder are counted");
    m.stacks = {{decoder, true, true, std::vector<LayerFacts>(static_cast<std::size_t>(decoder_layers))},
        {encoder, false, false, std::vector<LayerFacts>(static_cast<std::size_t>(encoder_layers))}};
    for (StackFacts& stack : m.stacks) {
        for (LayerFacts& layer : stack.layers) layer.rope = false;
        stack.layers[0].relative_table = relative_tables;
    }
}

/// DeepSeek-V3's attention through latent vectors.
void read_latent(const ConfigFields& fields, ModelDescription& m) {
    LatentFacts latent;
    if (fields.nullable("q_lora_rank"))
        latent.q_rank = fields.size("q_lora_rank"); // null: queries are projected directly
    latent.kv_rank = fields.size("kv_lora_rank");
    latent.nope_dim = fields.size("qk_nope_head_dim");
    latent.rope_dim = fields.size("qk_rope_head_dim");
    latent.value_dim = fields.size("v_head_dim");
    if (fields.flag("attention_bias", false))
        fields.refuse("attention_bias is true; no DeepSeek-V3 with biases is known, so their count would be a guess");
    if (latent.nope_dim > INT64_MAX - latent.rope_dim) fields.refuse("the head widths are absurd");
    m.attention.head_dim = latent.nope_dim + latent.rope_dim;
    m.attention.scale = 1 / std::sqrt(static_cast<double>(m.attention.head_dim));
    m.attention.latent = latent;
    m.positions.rotary_dim = latent.rope_dim;
    m.positions.interleaved = fields.flag("rope_interleave", true);
    // A note speaks of the first, n_group's warning of the second; the others follow from what was read.
    for (const char* known : {"num_key_value_heads", "topk_group", "head_dim", "qk_head_dim"}) fields.has(known);
}

} // namespace

void bert(const ConfigFields& fields, ModelDescription& m) {
    m.type_rows = fields.size("type_vocab_size");
    m.embedding_norm = m.pooler = true;
    const std::string positions = fields.word("position_embedding_type", "absolute");
    if (positions != "absolute")
        fields.refuse(fmt::format("position_embedding_type is '{}'; only 'absolute' is known", positions));
}

void cohere(const ConfigFields& fields, ModelDescription& m) {
    if (fields.flag("use_qk_norm", false)) m.attention.qk_norm = {"per_head", "layernorm", true, true, "before RoPE"};
    m.logit_scale = fields.positive("logit_scale", 0.0625);
}

void deepseek_v3(const ConfigFields& fields, ModelDescription& m) {
    read_latent(fields, m);
    if (const std::int64_t extra = fields.count("num_nextn_predict_layers", 0); extra > 0)
        warn(m,
            fmt::format("multi-token prediction (num_nextn_predict_layers {}) lies beyond num_hidden_layers and is not "
                        "counted; model_type deepseek_v3+mtp counts it",
                extra));
}

void deepseek_v3_mtp(const ConfigFields& fields, ModelDescription& m) {
    read_latent(fields, m);
    m.extra_layers = fields.count("num_nextn_predict_layers", 1);
    if (m.extra_layers != 1 || !m.experts)
        fields.refuse(
            fmt::format("num_nextn_predict_layers is {}; one such layer, with experts, is known", m.extra_layers));
}

void deepseek_v4(const ConfigFields& fields, ModelDescription& m) {
    LatentFacts latent;
    latent.q_rank = fields.size("q_lora_rank");
    latent.rope_dim = fields.size("qk_rope_head_dim");
    latent.out_groups = fields.size("o_groups");
    latent.out_rank = fields.size("o_lora_rank");
    latent.index_heads = fields.size("index_n_heads");
    latent.index_dim = fields.size("index_head_dim");
    latent.index_keys = fields.count("index_topk", latent.index_keys);
    m.attention.latent = latent;
    if (const auto said = fields.optional_size("num_key_value_heads"); said && *said != 1)
        fields.refuse(fmt::format("num_key_value_heads is {}; DeepSeek-V4 has one vector for keys and values", *said));
    m.attention.kv_heads = 1;
    if (m.attention.heads % latent.out_groups != 0)
        fields.refuse(fmt::format(
            "num_attention_heads {} does not divide into o_groups {}", m.attention.heads, latent.out_groups));
    m.positions.rotary_dim = latent.rope_dim;
    m.streams = fields.size("hc_mult");
    m.mixing_rounds = fields.count("hc_sinkhorn_iters", m.mixing_rounds);
    if (m.streams == 1) fields.refuse("hc_mult is 1; mHC mixes two streams or more");

    std::vector<LayerFacts>& layers = m.stacks[0].layers;
    const std::size_t extra = static_cast<std::size_t>(fields.count("num_nextn_predict_layers", 0));
    const std::vector<std::int64_t> ratios = fields.counts("compress_ratios");
    if (ratios.size() != layers.size() && ratios.size() != layers.size() + extra)
        fields.refuse(fmt::format("compress_ratios has {} entries for {} layers (and {} for multi-token prediction)",
            ratios.size(), layers.size(), extra));
    const auto hashed = static_cast<std::size_t>(fields.count("num_hash_layers", 3));
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (ratios[i] > most_compressed)
            fields.refuse(fmt::format("compress_ratios holds {}; that is absurd", ratios[i]));
        layers[i].compress = ratios[i];
        layers[i].hash_routed = i < hashed;
    }
    if (extra > 0) warn(m, "multi-token-prediction layers lie beyond num_hidden_layers and are not counted");
    if (ratios.size() > layers.size())
        warn(m, fmt::format("compress_ratios has {} entries for {} layers: the last belongs to multi-token prediction",
                    ratios.size(), layers.size()));
}

void falcon(const ConfigFields& fields, ModelDescription& m) {
    const bool renewed = fields.flag("new_decoder_architecture", false);
    const bool one_key = fields.flag("multi_query", true), parallel = fields.flag("parallel_attn", true);
    std::int64_t& kv_heads = m.attention.kv_heads;
    const std::optional<std::int64_t> said = fields.optional_size("num_kv_heads|n_head_kv");
    kv_heads = renewed ? said.value_or(m.attention.heads) : one_key ? 1 : m.attention.heads;
    if (said && *said != kv_heads)
        warn(m, fmt::format(
                    "num_kv_heads says {}, but the old decoder with multi_query {} has {}", *said, one_key, kv_heads));
    const std::int64_t norms = renewed ? fields.count("num_ln_in_parallel_attn", 2) : 1;
    if (norms < 1 || norms > 2) fields.refuse(fmt::format("num_ln_in_parallel_attn is {}; it must be 1 or 2", norms));
    if (renewed || parallel) set_placement(m, Placement::parallel, static_cast<int>(norms));
    else set_placement(m, Placement::pre);
    if (fields.flag("alibi", false)) m.positions = {.kind = "alibi"};
    warn(m,
        "the name covers two blocks: 7B has one norm and one KV head, 40B and 180B have two norms and grouped heads");
}

void gemma(const ConfigFields& fields, ModelDescription& m) {
    const std::string word = fields.word("hidden_activation|hidden_act", "gelu_pytorch_tanh");
    if (word == "gelu") warn(m, "the field says 'gelu', but the trained function is its tanh form");
}

void gpt_neox(const ConfigFields& fields, ModelDescription& m) {
    if (!fields.flag("use_parallel_residual", true)) set_placement(m, Placement::pre);
}

void llama4(const ConfigFields& fields, ModelDescription& m) {
    if (!fields.flag("use_qk_norm", true)) m.attention.qk_norm = {};
    if (m.experts) m.experts->shared_width = m.experts->width;
    set_rope_layers(fields, m);
    if (const auto chunk = fields.optional_size("attention_chunk_size"))
        warn(m, fmt::format(
                    "layers with RoPE attend within chunks of {} tokens; layers without it see everything", *chunk));
}

void smollm3(const ConfigFields& fields, ModelDescription& m) {
    set_rope_layers(fields, m);
    if (!m.attention.window || !fields.words("layer_types").empty()) return;
    for (LayerFacts& layer : m.stacks[0].layers) layer.sliding = !layer.rope;
    m.attention.window_layers = "those without RoPE";
}

void stablelm(const ConfigFields& fields, ModelDescription& m) {
    if (fields.flag("use_parallel_residual", false)) set_placement(m, Placement::parallel, 1);
    if (fields.flag("qk_layernorm", false))
        m.attention.qk_norm = {"per_head", "layernorm", true, true, "one norm module a head, without bias"};
    if (!fields.flag("use_norm_bias", true))
        warn(m,
            "use_norm_bias false is read by the repository's own code alone; the library's norms have biases, and "
            "these are counted");
}

void t5(const ConfigFields& fields, ModelDescription& m) {
    const std::string projection = fields.word("feed_forward_proj", "relu");
    m.ffn.gated = projection.starts_with("gated-");
    const std::string activation = m.ffn.gated ? projection.substr(6) : projection;
    if (activation != "relu" && activation != "gelu" && activation != "silu")
        fields.refuse(fmt::format(
            "feed_forward_proj is '{}'; relu, gelu, silu and gated-gelu, gated-silu are known", projection));
    // The library reads gated-gelu as the tanh form, plain gelu as the erf form.
    m.ffn.activation = activation == "relu"   ? "relu"
                       : activation == "silu" ? "silu"
                       : m.ffn.gated          ? "gelu_tanh"
                                              : "gelu_erf";
    m.ffn.kind = ffn_kind(m.ffn.activation, m.ffn.gated);
    m.ffn.packing = m.ffn.gated ? "separate" : "none";
    m.attention.scale = 1;
    m.positions.rows = fields.count("relative_attention_num_buckets", 32);
    const auto layers = static_cast<std::int64_t>(m.stacks[0].layers.size());
    set_two_stacks(fields, m, "decoder.block", fields.optional_size("num_decoder_layers").value_or(layers),
        "encoder.block", layers, true);
    if (m.tied) m.logit_scale = 1 / std::sqrt(static_cast<double>(m.width));
}

void transformer2017(const ConfigFields& fields, ModelDescription& m) {
    const auto layers = static_cast<std::int64_t>(m.stacks[0].layers.size());
    set_two_stacks(fields, m, "dec", layers, "enc", layers, false);
}

void vit(const ConfigFields& fields, ModelDescription& m) {
    m.image = fields.size("image_size");
    m.patch = fields.size("patch_size");
    m.channels = fields.size("num_channels");
    if (m.patch > m.image) fields.refuse(fmt::format("patch_size {} is larger than image_size {}", m.patch, m.image));
    const std::int64_t side = m.image / m.patch;
    if (side > 1'000'000) fields.refuse(fmt::format("image_size {} is absurd", m.image));
    m.positions.rows = side * side + 1;
    const auto labels = static_cast<std::int64_t>(fields.entries("id2label"));
    m.classes = labels > 0 && !fields.has("num_labels") ? labels : fields.size("num_labels");
    if (labels == 0 && !fields.has("num_labels"))
        warn(m, fmt::format("num_labels and id2label are absent: the class default, {} labels, is counted", m.classes));
}

std::vector<bool> sparse_deepseek(const ConfigFields& fields, std::int64_t layers) {
    const std::int64_t dense = fields.count("first_k_dense_replace", 3), every = fields.count("moe_layer_freq", 1);
    if (dense > layers)
        fields.refuse(fmt::format("first_k_dense_replace is {} but there are {} layers", dense, layers));
    if (every == 0) fields.refuse("moe_layer_freq is 0; it must be a whole number above 0");
    std::vector<bool> sparse(static_cast<std::size_t>(layers));
    for (std::int64_t i = dense; i < layers; ++i) sparse[static_cast<std::size_t>(i)] = i % every == 0;
    return sparse;
}

namespace {

/// The n-th layer, the 2n-th, …; none for n = 0.
std::vector<bool> each_nth(std::int64_t n, std::int64_t layers) {
    std::vector<bool> chosen(static_cast<std::size_t>(layers));
    for (std::int64_t i = n; n > 0 && i <= layers; i += n) chosen[static_cast<std::size_t>(i - 1)] = true;
    return chosen;
}

/// Sets the layers that a field lists, from 0.
void set_listed(const ConfigFields& fields, std::string_view field, std::vector<bool>& layers, bool value) {
    for (const std::int64_t i : fields.counts(field)) {
        if (i >= static_cast<std::int64_t>(layers.size()))
            fields.refuse(fmt::format("{} names layer {} of {}", field, i, layers.size()));
        layers[static_cast<std::size_t>(i)] = value;
    }
}

} // namespace

std::vector<bool> sparse_llama4(const ConfigFields& fields, std::int64_t layers) {
    if (!fields.has("moe_layers")) return each_nth(fields.count("interleave_moe_layer_step", 1), layers);
    std::vector<bool> sparse(static_cast<std::size_t>(layers));
    set_listed(fields, "moe_layers", sparse, true);
    return sparse;
}

std::vector<bool> sparse_qwen3(const ConfigFields& fields, std::int64_t layers) {
    std::vector<bool> sparse = each_nth(fields.count("decoder_sparse_step", 1), layers);
    set_listed(fields, "mlp_only_layers", sparse, false);
    return sparse;
}

} // namespace chalkgrad::nn::special
