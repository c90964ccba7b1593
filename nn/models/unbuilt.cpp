// Fields that change a model and that most types do not know: each is used, warned of, or refused; none is dropped.
#include <algorithm>

#include <fmt/format.h>

#include <chalkgrad/nn/models/types.hpp>

namespace chalkgrad::nn {
namespace {

/// A field that says something only beside its `inert` values, and the types whose reader uses it.
struct Unbuilt {
    std::string_view field;
    std::vector<std::string_view> inert;
    std::vector<std::string_view> read_by;
    std::string_view changes;
};

const std::vector<Unbuilt>& unbuilt() {
    static const std::vector<Unbuilt> fields = {
        {"alibi", {"false"}, {"falcon"}, "the positions"},
        {"attn_scale", {}, {}, "the scores of layers without RoPE"},
        {"attn_temperature_tuning", {"false", "0"}, {}, "the scores of layers without RoPE"},
        {"attn_logit_softcapping", {}, {"gemma2", "gemma3_text"}, "the scores"},
        {"final_logit_softcapping", {}, {"gemma2", "gemma3_text"}, "the logits"},
        {"query_pre_attn_scalar", {}, {"gemma2", "gemma3_text"}, "the scores"},
        {"logit_scale", {"1", "1.0"}, {"cohere"}, "the logits"},
        {"scale_attn_weights", {"true"}, {}, "the scores: they are not divided by sqrt(head_dim)"},
        {"scale_attn_by_inverse_layer_idx", {"false"}, {}, "the scores"},
        {"relative_attention_max_distance", {"128"}, {}, "the buckets of distances, which here end at 128"},
        {"use_qk_norm", {"false"}, {"cohere", "llama4_text"}, "attention and its count"},
        {"qk_layernorm", {"false"}, {"stablelm"}, "attention and its count"},
        {"use_parallel_residual", {"false"}, {"gpt_neox", "stablelm"}, "the order of the sublayers"},
        {"partial_rotary_factor", {"1", "1.0"}, {"glm", "glm4", "gpt_neox", "phi3", "stablelm"}, "the positions"},
        {"no_rope_layers", {}, {"llama4_text"}, "the positions"},
        {"use_mrope", {"false"}, {}, "the positions"},
        {"shared_expert_intermediate_size", {"0"}, {}, "the count"},
        {"scoring_func", {"\"sigmoid\"", "\"sqrtsoftplus\""}, {}, "the experts' weights"},
        {"is_encoder_decoder", {"false"}, {"t5", "transformer2017"}, "the structure"},
    };
    return fields;
}

} // namespace

void read_unbuilt(const ModelType& type, const ConfigFields& fields, ModelDescription& m) {
    for (const Unbuilt& rule : unbuilt()) {
        const std::string said = fields.said(rule.field);
        const auto in = [](const auto& list, std::string_view word) {
            return std::find(list.begin(), list.end(), word) != list.end();
        };
        if (!said.empty() && !in(rule.inert, said) && !in(rule.read_by, type.name))
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
