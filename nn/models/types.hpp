// What each model_type means: one description per type, read by one reader (model_config.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/nn/models/description.hpp>
#include <chalkgrad/nn/models/fields.hpp>

namespace chalkgrad::nn {

/// How a type's config.json calls things; "a|b" as in ConfigFields. An empty name: the type has no such field.
struct FieldNames {
    std::string_view width = "hidden_size", layers = "num_hidden_layers", heads = "num_attention_heads",
                     kv_heads = "num_key_value_heads", head_dim = "head_dim", ffn = "intermediate_size",
                     eps = "rms_norm_eps", activation = "hidden_act", vocabulary = "vocab_size", rotary = "",
                     theta = "rope_theta", scale = "", clip = "", limit = "", tied = "tie_word_embeddings";
};

/// Which matrices have a bias: "q", "k", "v", "o", "up" (gate and up), "down", "router", "experts", "head".
struct BiasRule {
    std::string_view field; ///< empty: no field, `otherwise` always holds
    bool otherwise;
    std::vector<std::string_view> of;
};

/// Which layers slide: all but every `period`-th; period 0 means all.
struct WindowRule {
    std::string_view field{}; ///< the window's size; empty: the type has no window
    std::int64_t period = 0;
    std::string_view period_field{}; ///< overrides `period`
    std::string_view switched_by{};  ///< a flag without which the window is inert
};

struct ExpertRule {
    std::string_view count, chosen, width;
    std::string_view shared{}; ///< number of shared experts; empty for none
    /// Whether a layer has experts; nullptr: every layer.
    std::vector<bool> (*sparse)(const ConfigFields&, std::int64_t layers) = nullptr;
};

/// A description of what all models of the type have in common, and how its fields say the rest. Warnings say where the name misleads.
struct ModelType : ModelDescription {
    std::string_view name{};
    std::string_view examples{};          ///< models of this type
    std::string_view activation = "silu"; ///< when the field is absent
    std::string_view fixed_activation{};  ///< when the code decides, whatever the field says
    std::vector<BiasRule> biases{};
    FieldNames names{};
    std::string_view defaults{};   ///< JSON: the class's values of fields that checkpoints leave out
    std::int64_t ffn_multiple = 0; ///< FFN width over model width where the field is absent; 0: it may not be
    WindowRule window{};
    std::optional<ExpertRule> expert_fields{};
    std::string_view position_rows{}; ///< field of a learned table's rows
    std::string_view other_layers{};  ///< a word of layer_types beside full_attention, for a type without windows
    std::string_view path = "model.layers";
    bool causal = true, soft_caps = false, scaled_embedding = false;
    bool stretch_when_full = false; ///< sliding layers keep their angles, whatever stretches those of the others
    void (*special)(const ConfigFields&, ModelDescription&) = nullptr; ///< what no column says
    std::string_view text_type{};                                      ///< a wrapper: `text_config` is of this type
    std::string_view vision_type{};                                    ///< and `vision_config` of this one
};

/// All types, in the order of the alphabet.
const std::vector<ModelType>& model_types();

/// "pre; RMS norm; gated silu; biases: none": the type in one line.
std::string facts_line(const ModelType& type);

/// "swiglu", "geglu", …: what a gated FFN is called by its activation; "mlp" without a gate.
std::string_view ffn_kind(std::string_view activation, bool gated);

/// Throws Error for an unknown name: with near names, or saying what other kind of model it is.
const ModelType& find_model_type(std::string_view name);

// ---- positions (positions.cpp)
/// Kind, base and rotated features, from the old fields or from rope_parameters.
void read_positions(const ModelType&, const ConfigFields&, ModelDescription&);
/// How the angles are stretched. Runs after a type's own function: DeepSeek's factor goes into its scores' scale.
void read_stretch(const ModelType&, const ConfigFields&, ModelDescription&);

// ---- what is not built (unbuilt.cpp)
/// Fields that change structure, mask, positions or count, and that no column reads: used, warned of, or refused.
void read_unbuilt(const ModelType&, const ConfigFields&, ModelDescription&);
/// Names the fields that nobody has read and that may say something. Runs last, on the whole document.
void warn_of_unread(const ConfigFields&, ModelDescription&);

// ---- what no column says (special.cpp)
namespace special {
void bert(const ConfigFields&, ModelDescription&);
void cohere(const ConfigFields&, ModelDescription&);
void deepseek_v3(const ConfigFields&, ModelDescription&);
void deepseek_v3_mtp(const ConfigFields&, ModelDescription&);
void deepseek_v4(const ConfigFields&, ModelDescription&);
void falcon(const ConfigFields&, ModelDescription&);
void gemma(const ConfigFields&, ModelDescription&);
void gpt_neox(const ConfigFields&, ModelDescription&);
void llama4(const ConfigFields&, ModelDescription&);
void smollm3(const ConfigFields&, ModelDescription&);
void stablelm(const ConfigFields&, ModelDescription&);
void t5(const ConfigFields&, ModelDescription&);
void transformer2017(const ConfigFields&, ModelDescription&);
void vit(const ConfigFields&, ModelDescription&);

std::vector<bool> sparse_deepseek(const ConfigFields&, std::int64_t layers);
std::vector<bool> sparse_llama4(const ConfigFields&, std::int64_t layers);
std::vector<bool> sparse_qwen3(const ConfigFields&, std::int64_t layers);
} // namespace special

} // namespace chalkgrad::nn
