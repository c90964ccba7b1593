// The table of names: a family says how it differs from an earlier one.
#include <chalkgrad/nn/checkpoint/names.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/base/error.hpp>

namespace chalkgrad::nn {
namespace {

/// The names of an ancestor, with those of `own` in their places.
TensorNames derived(const TensorNames& from, std::vector<std::string_view> types, const std::vector<TensorName>& own) {
    TensorNames made{std::move(types), own};
    for (const TensorName& name : from.names)
        if (std::none_of(own.begin(), own.end(), [&](const TensorName& mine) { return mine.ours == name.ours; }))
            made.names.push_back(name);
    return made;
}

std::vector<TensorNames> make_families() {
    const TensorNames llama{{"llama", "mistral", "qwen2", "qwen3", "smollm3", "gemma", "gemma2", "gemma3_text", "olmo",
                                "olmo2", "olmo_1124", "olmo3", "glm", "cohere"},
        {{"embedding", "embed_tokens"}, {"final", "norm"}, {"w_head", "/lm_head"},
            {"attention.wq", "layers.*.self_attn.q_proj"}, {"attention.wk", "layers.*.self_attn.k_proj"},
            {"attention.wv", "layers.*.self_attn.v_proj"}, {"attention.wo", "layers.*.self_attn.o_proj"},
            {"attention.q_norm", "layers.*.self_attn.q_norm"}, {"attention.k_norm", "layers.*.self_attn.k_norm"},
            {"ffn.w_gate", "layers.*.mlp.gate_proj"}, {"ffn.w_up", "layers.*.mlp.up_proj"},
            {"ffn.w_gate_up", "layers.*.mlp.gate_up_proj"}, {"ffn.w_down", "layers.*.mlp.down_proj"},
            {"norm1", "layers.*.input_layernorm"}, {"norm2", "layers.*.post_attention_layernorm"},
            {"norm1_in", "layers.*.input_layernorm"}, {"norm1_out", "layers.*.post_attention_layernorm"},
            {"norm2_in", "layers.*.pre_feedforward_layernorm"}, {"norm2_out", "layers.*.post_feedforward_layernorm"}}};
    const TensorNames gpt2{{"gpt2"},
        {{"embedding", "wte"}, {"positions", "wpe"}, {"final", "ln_f"}, {"w_head", "/lm_head"},
            {"attention.wq", "h.*.attn.c_attn", Part::packed, true},
            {"attention.wk", "h.*.attn.c_attn", Part::packed, true},
            {"attention.wv", "h.*.attn.c_attn", Part::packed, true},
            {"attention.wo", "h.*.attn.c_proj", Part::whole, true}, {"ffn.w1", "h.*.mlp.c_fc", Part::whole, true},
            {"ffn.w2", "h.*.mlp.c_proj", Part::whole, true}, {"norm1", "h.*.ln_1"}, {"norm2", "h.*.ln_2"}}};
    const TensorNames neox{
        {"gpt_neox"}, {{"embedding", "embed_in"}, {"final", "final_layer_norm"}, {"w_head", "/embed_out"},
                          {"attention.wq", "layers.*.attention.query_key_value", Part::grouped},
                          {"attention.wk", "layers.*.attention.query_key_value", Part::grouped},
                          {"attention.wv", "layers.*.attention.query_key_value", Part::grouped},
                          {"attention.wo", "layers.*.attention.dense"}, {"ffn.w1", "layers.*.mlp.dense_h_to_4h"},
                          {"ffn.w2", "layers.*.mlp.dense_4h_to_h"}, {"norm1", "layers.*.input_layernorm"},
                          {"norm2", "layers.*.post_attention_layernorm"}}};
    return {llama, gpt2, neox,
        derived(llama, {"phi3"},
            {{"attention.wq", "layers.*.self_attn.qkv_proj", Part::packed},
                {"attention.wk", "layers.*.self_attn.qkv_proj", Part::packed},
                {"attention.wv", "layers.*.self_attn.qkv_proj", Part::packed}}),
        derived(llama, {"glm4"},
            {{"norm1_out", "layers.*.post_self_attn_layernorm"}, {"norm2_in", "layers.*.post_attention_layernorm"},
                {"norm2_out", "layers.*.post_mlp_layernorm"}}),
        derived(llama, {"stablelm"},
            {{"attention.q_norm", "layers.*.self_attn.q_layernorm.norms.#"},
                {"attention.k_norm", "layers.*.self_attn.k_layernorm.norms.#"}}),
        derived(llama, {"qwen3_moe"},
            {{"ffn.w_router", "layers.*.mlp.gate"}, {"ffn.experts.w_gate", "layers.*.mlp.experts.#.gate_proj"},
                {"ffn.experts.w_up", "layers.*.mlp.experts.#.up_proj"},
                {"ffn.experts.w_down", "layers.*.mlp.experts.#.down_proj"}}),
        derived(llama, {"mixtral"},
            {{"ffn.w_router", "layers.*.block_sparse_moe.gate"},
                {"ffn.experts.w_gate", "layers.*.block_sparse_moe.experts.#.w1"},
                {"ffn.experts.w_up", "layers.*.block_sparse_moe.experts.#.w3"},
                {"ffn.experts.w_down", "layers.*.block_sparse_moe.experts.#.w2"}}),
        derived(llama, {"gpt_oss"},
            {{"attention.sinks", "layers.*.self_attn.sinks", Part::whole, true, ""},
                {"ffn.w_router", "layers.*.mlp.router"},
                {"ffn.experts.w_gate_up", "layers.*.mlp.experts.gate_up_proj", Part::whole, true, "", "_bias"},
                {"ffn.experts.w_down", "layers.*.mlp.experts.down_proj", Part::whole, true, "", "_bias"}}),
        derived(gpt2, {"gptj"},
            {{"attention.wq", "h.*.attn.q_proj"}, {"attention.wk", "h.*.attn.k_proj"},
                {"attention.wv", "h.*.attn.v_proj"}, {"attention.wo", "h.*.attn.out_proj"}, {"ffn.w1", "h.*.mlp.fc_in"},
                {"ffn.w2", "h.*.mlp.fc_out"}}),
        {{"falcon"},
            {{"embedding", "word_embeddings"}, {"final", "ln_f"}, {"w_head", "/lm_head"},
                {"attention.wq", "h.*.self_attention.query_key_value", Part::grouped},
                {"attention.wk", "h.*.self_attention.query_key_value", Part::grouped},
                {"attention.wv", "h.*.self_attention.query_key_value", Part::grouped},
                {"attention.wo", "h.*.self_attention.dense"}, {"ffn.w1", "h.*.mlp.dense_h_to_4h"},
                {"ffn.w2", "h.*.mlp.dense_4h_to_h"}, {"norm1", "h.*.input_layernorm"}, {"norm1", "h.*.ln_attn"},
                {"norm2", "h.*.post_attention_layernorm"}, {"norm2", "h.*.ln_mlp"}}}};
}

const std::vector<TensorNames>& families() {
    static const std::vector<TensorNames> all = make_families();
    return all;
}

} // namespace

std::vector<std::string_view> checkpoint_types() {
    std::vector<std::string_view> types;
    for (const TensorNames& family : families()) types.insert(types.end(), family.types.begin(), family.types.end());
    std::sort(types.begin(), types.end());
    return types;
}

const TensorNames& tensor_names(std::string_view model_type) {
    for (const TensorNames& family : families())
        if (std::find(family.types.begin(), family.types.end(), model_type) != family.types.end()) return family;
    throw Error(fmt::format("checkpoint: weights of model_type '{}' are not read; those of {} are", model_type,
        fmt::join(checkpoint_types(), ", ")));
}

bool is_buffer(std::string_view name) {
    static constexpr std::string_view ends[] = {"rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias",
        ".attention.bias", ".attention.masked_bias", "position_ids"};
    return std::any_of(std::begin(ends), std::end(ends), [&](std::string_view end) { return name.ends_with(end); });
}

} // namespace chalkgrad::nn
