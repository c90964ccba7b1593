// The facts of a model that its config.json states or leaves to its class: what the ledger counts and the modules build.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/nn/layers/residual.hpp>
#include <chalkgrad/ops/attention/rope.hpp>

namespace chalkgrad::nn {

/// A size of a description as modules take it.
constexpr std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

/// The words are those of `chalkgrad inspect --json`; sizes are counts of features, heads, rows or layers.
struct NormFacts {
    std::string_view kind = "rms"; ///< "rms" or "layernorm"
    double eps = 1e-6;             ///< added under the root
    std::string_view gain = "w";   ///< "w", "1+w" (stored around 0), "none"
    bool bias = false;
    std::string_view cast = "before_weight"; ///< back to the input's type before or after the gain; "fp32": neither
    bool operator==(const NormFacts&) const = default;
};

struct QkNormFacts {
    std::string_view axis = "none"; ///< "none", "per_head", "whole_projection"
    std::string_view kind = "none"; ///< "none", "rms", "layernorm"
    bool learned = false;
    bool per_head_gain = false; ///< each head has a gain of its own: (heads, head_dim) instead of (head_dim)
    std::string_view note{};    ///< what the other words cannot say; may be empty
    bool after_rope = false;    ///< normed after the rotation, on layers that rotate; else before it
    bool operator==(const QkNormFacts&) const = default;
};

/// Low-rank attention. DeepSeek-V3: queries and keys/values go through small latent vectors (MLA).
/// DeepSeek-V4: one key that is also the value, and an output projection in groups.
struct LatentFacts {
    std::int64_t q_rank = 0;                                                   ///< 0: queries are projected directly
    std::int64_t kv_rank = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;       ///< V3
    std::int64_t out_groups = 0, out_rank = 0, index_heads = 0, index_dim = 0; ///< V4; out_groups 0 means V3
    std::int64_t index_keys = 512;                                             ///< compressed keys that a query sees
    bool operator==(const LatentFacts&) const = default;
};

struct AttentionFacts {
    std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
    std::vector<std::string_view> biases{}; ///< of "q", "k", "v", "o"
    std::optional<std::int64_t> window;     ///< keys a sliding layer sees, itself included
    std::string window_layers;              ///< "all", "every second layer, from the first"; empty without a window
    std::optional<double> softcap;
    std::optional<double> clip; ///< q, k and v are clamped to ±clip
    bool sinks = false;         ///< one learned logit a head joins the softmax
    double scale = 0;           ///< of the scores
    QkNormFacts qk_norm;
    std::optional<LatentFacts> latent;

    bool has_bias(std::string_view matrix) const {
        return std::find(biases.begin(), biases.end(), matrix) != biases.end();
    }
    bool operator==(const AttentionFacts&) const = default;
};

struct FfnFacts {
    std::string_view kind;       ///< "mlp", "swiglu", "geglu", "reglu", "gpt_oss"
    std::string_view activation; ///< an op's name: "silu", "gelu_tanh", "gelu_erf", "relu", …; "gpt_oss"
    bool gated = true;
    std::string_view packing = "separate"; ///< of gate and up: "separate", "contiguous", "interleaved", "none"
    std::optional<double> limit;           ///< of the clamped gates
    bool up_bias = false, down_bias = false;
    std::int64_t width = 0; ///< of the dense layers; 0 when there is none
    bool operator==(const FfnFacts&) const = default;
};

struct ExpertFacts {
    std::int64_t count = 0, chosen = 0, width = 0;
    std::int64_t shared_width = 0; ///< all shared experts together; 0: none
    bool router_bias = false, bias = false;
    std::string_view routing;             ///< in words
    std::string_view scoring = "softmax"; ///< "softmax", "sigmoid", "sqrt_softplus"
    bool normalize = true;                ///< weights of the chosen add up to 1
    bool weight_input = false;            ///< the weight multiplies an expert's input
    double scale = 1;                     ///< of the weights
    std::string_view packing;             ///< of an expert's gate and up
    bool correction_buffer = false;       ///< a bias of the choice that no gradient reaches
    bool operator==(const ExpertFacts&) const = default;
};

struct PositionFacts {
    std::string_view kind = "rope";       ///< "rope", "learned", "relative", "sinusoid", "alibi"
    std::int64_t rows = 0;                ///< of the learned or relative table
    std::int64_t rotary_dim = 0;          ///< features of a head that are turned
    bool interleaved = false;             ///< pairs (2i, 2i+1) instead of halves
    double base = 10000;                  ///< of the angles
    std::optional<double> sliding_base{}; ///< of sliding layers; `stretch` is not theirs then
    RopeScaling stretch{};
    RopeScaling sliding_stretch{}; ///< of sliding layers with a base of their own
    bool operator==(const PositionFacts&) const = default;
};

/// What may differ from layer to layer.
struct LayerFacts {
    bool experts = false;
    bool sliding = false;
    bool rope = true;
    bool hash_routed = false;    ///< DeepSeek-V4: a frozen table chooses the experts
    std::int64_t compress = 0;   ///< DeepSeek-V4: tokens that become one compressed key; 0: none
    bool relative_table = false; ///< T5: this layer owns the stack's table
    bool operator==(const LayerFacts&) const = default;
};

struct StackFacts {
    std::string path{}; ///< "model.layers", as checkpoints name it
    bool causal = true;
    bool cross_attention = false;
    std::vector<LayerFacts> layers{};
    bool operator==(const StackFacts&) const = default;
};

/// An image encoder beside the language model: counted, not traced further.
struct VisionFacts {
    std::string_view kind; ///< "siglip_vision_model" or "llama4_vision_model"
    std::int64_t width = 0, ffn_width = 0, layers = 0, heads = 1, image = 0, patch = 0, channels = 3;
    std::string_view activation; ///< an op's name
    double eps = 1e-6;
    std::int64_t tokens = 0;   ///< an image becomes, by averaging neighbours (SigLIP)
    bool pooling_head = false; ///< SigLIP
    std::int64_t projector_in = 0, projector_out = 0, out = 0, shuffled = 0; ///< Llama 4's adapter
    bool operator==(const VisionFacts&) const = default;
};

struct ModelDescription {
    std::string model_type;
    Placement placement = Placement::pre;
    int parallel_norms = 0; ///< 1 or 2 for the placement "parallel"
    std::int64_t vocabulary = 0, width = 0;
    NormFacts norm;
    AttentionFacts attention;
    FfnFacts ffn;
    std::optional<ExpertFacts> experts;
    PositionFacts positions;
    std::vector<StackFacts> stacks;
    std::int64_t streams = 1;        ///< mHC's residual streams
    std::int64_t mixing_rounds = 20; ///< of Sinkhorn's normalisation, for the matrix that mixes them
    std::int64_t type_rows = 0;      ///< BERT's segment table
    bool embedding_norm = false, pooler = false, final_norm = true;
    std::string_view head = "vocabulary"; ///< "vocabulary", "classes", "none"
    std::int64_t classes = 0;
    bool head_bias = false;
    bool tied = false;
    double embedding_scale = 1;
    std::optional<double> final_softcap, logit_scale;
    std::int64_t image = 0, patch = 0, channels = 0; ///< ViT's own input
    std::int64_t extra_layers = 0;                   ///< multi-token-prediction modules that are counted
    std::optional<VisionFacts> vision;
    std::vector<std::string> warnings; ///< where the family name, a field or a published number misleads

    /// The residual step of the placement in the letters A (attention), F (FFN), N (norms).
    std::string_view residual() const;

    std::int64_t layer_count() const {
        std::int64_t n = 0;
        for (const StackFacts& stack : stacks) n += static_cast<std::int64_t>(stack.layers.size());
        return n;
    }
    bool operator==(const ModelDescription&) const = default;
};

} // namespace chalkgrad::nn
