// Fields that change a model and that most types do not know: each is used, warned of, or refused; none is dropped.
#include <algorithm>

#include <fmt/format.h>

#include <chalkgrad/nn/models/types.hpp>

namespace chalkgrad::nn {
namespace {

/// A field that says something beside its `inert` values, to types that do not read it.
struct Unbuilt {
    std::string field;
    std::vector<std::string_view> inert;
    std::string_view changes;
};

const std::vector<Unbuilt>& unbuilt() {
    static const std::vector<Unbuilt> fields = {
        {"alibi", {"false"}, "the positions"},
        {"attn_scale", {}, "the scores of layers without RoPE"},
        {"floor_scale", {}, "the scores of layers without RoPE"},
        {"attn_temperature_tuning", {"false", "0"}, "the scores of layers without RoPE"},
        {"attn_logit_softcapping", {}, "the scores"},
        {"final_logit_softcapping", {}, "the logits"},
        {"query_pre_attn_scalar", {}, "the scores"},
        {"logit_scale", {"1", "1.0"}, "the logits"},
        {"scale_attn_weights", {"true"}, "the scores: they are not divided by sqrt(head_dim)"},
        {"scale_attn_by_inverse_layer_idx", {"false"}, "the scores"},
        {"relative_attention_max_distance", {"128"}, "the buckets of distances, which here end at 128"},
        {"use_qk_norm", {"false"}, "attention and its count"},
        {"qk_layernorm", {"false"}, "attention and its count"},
        {"use_parallel_residual", {"false"}, "the order of the sublayers"},
        {"partial_rotary_factor", {"1", "1.0"}, "the positions"},
        {"rotary_scaling_factor", {"1", "1.0"}, "the positions"},
        {"rope_interleaved", {"false"}, "the positions"},
        {"compress_rope_theta", {}, "the positions of compressed keys"},
        {"no_rope_layers", {}, "the positions"},
        {"use_mrope", {"false"}, "the positions"},
        {"shared_expert_intermediate_size", {"0"}, "the count"},
        {"n_group", {"1"}, "the choice of experts, which goes by groups first"},
        {"scoring_func", {"\"sigmoid\"", "\"sqrtsoftplus\""}, "the experts' weights"},
        {"apply_residual_connection_post_layernorm", {"false"}, "the residual"},
        {"is_encoder_decoder", {"false"}, "the structure"},
        {"tie_encoder_decoder", {"false"}, "the count"},
        {"pruned_heads", {"{}"}, "attention and its count"},
    };
    return fields;
}

/// What configs hold that changes no block: training, generation, tokens, files, storage. An asterisk stands for any
/// letters at its end of a name.
constexpr std::string_view harmless[] = {"_*", "*_dropout", "*_dropout_prob", "*_pdrop", "*_token_id", "*_token_index",
    "architectures", "attn_implementation", "auto_map", "aux_loss_alpha", "bad_words_ids", "begin_suppress_tokens",
    "cache_implementation", "chunk_size_feed_forward", "classifier_dropout", "dense_act_fn", "directionality",
    "diversity_penalty", "do_sample", "dropout*", "dtype", "early_stopping", "encoder_no_repeat_ngram_size",
    "encoder_stride", "ep_size", "expert_dtype", "exponential_decay_length_penalty", "finetuning_task", "forced_*",
    "gradient_checkpointing", "hc_eps", "id2label", "initializer_*", "is_gated_act", "is_llama_config", "label2id",
    "language", "length_penalty", "max_length", "max_position_embeddings", "min_length", "model_max_length", "n_ctx",
    "n_positions", "no_repeat_ngram_size", "num_beam*", "num_labels", "num_return_sequences",
    "original_max_position_embeddings", "output_*", "pooler_*", "prefix", "pretraining_tp", "problem_type",
    "quantization_config", "remove_invalid_values", "reorder_and_upcast_attn", "repetition_penalty", "return_dict*",
    "rotary", "router_aux_loss_coef", "router_jitter_noise", "router_z_loss_coef", "seq_aux", "summary_*",
    "suppress_tokens", "task_specific_params", "temperature", "tokenizer_class", "top_k", "top_p", "torch_dtype",
    "torchscript", "transformers_version", "typical_p", "unsloth_*", "use_bfloat16", "use_cache",
    "vision_feature_layer", "vision_feature_select_strategy"};

bool is_harmless(std::string_view name) {
    return std::any_of(std::begin(harmless), std::end(harmless), [&](std::string_view known) {
        if (known.ends_with('*')) return name.starts_with(known.substr(0, known.size() - 1));
        return known.starts_with('*') ? name.ends_with(known.substr(1)) : name == known;
    });
}

/// Values that leave off what they speak of.
bool says_nothing(std::string_view shown) {
    return shown == "false" || shown == "0" || shown == "0.0" || shown == "\"\"" || shown == "[]" || shown == "{}";
}

} // namespace

void warn_of_unread(const ConfigFields& fields, ModelDescription& m) {
    for (const auto& [path, shown] : fields.unread())
        if (!says_nothing(shown) && !is_harmless(std::string_view(path).substr(path.rfind('.') + 1)))
            m.warnings.push_back(fmt::format("{} is {}; it is not read for this type", path, shown));
}

void read_unbuilt(const ModelType& type, const ConfigFields& fields, ModelDescription& m) {
    for (const Unbuilt& rule : unbuilt()) {
        if (fields.was_read(rule.field)) continue;
        const std::string said = fields.said(rule.field);
        if (!said.empty() && std::find(rule.inert.begin(), rule.inert.end(), said) == rule.inert.end())
            m.warnings.push_back(fmt::format(
                "{} is {}, which would change {}; it is not read for this type", rule.field, said, rule.changes));
    }
    StackFacts& stack = m.stacks[0];
    if (type.name == "bert" && fields.flag("is_decoder", false)) stack.causal = true;
    const bool both_ways = fields.flag("use_bidirectional_attention", false);
    if (m.stacks.size() == 1 && type.causal && (both_ways || !fields.flag("is_causal", true))) {
        stack.causal = false;
        if (m.attention.window)
            m.warnings.push_back(
                fmt::format("attention is bidirectional: windows of {} would reach both ways, which the "
                            "modules do not build; theirs see every token",
                    *m.attention.window));
    }
    if (!fields.flag("add_cross_attention", false) || m.stacks.size() > 1) return;
    if (type.name != "gpt2" && type.name != "bert")
        fields.refuse(
            "add_cross_attention is true; cross-attention is known of gpt2 and bert, so the count would be a guess");
    if (type.name == "bert" && !stack.causal)
        fields.refuse("add_cross_attention is true, but is_decoder is not: only a decoder attends to an encoder");
    stack.cross_attention = true;
}

} // namespace chalkgrad::nn
