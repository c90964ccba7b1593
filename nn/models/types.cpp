// The table of model types. Facts follow each type's reference code; a type says how it differs from its ancestor.
#include <chalkgrad/nn/models/types.hpp>

#include <algorithm>
#include <deque>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/nn/core/words.hpp>

namespace chalkgrad::nn {
namespace {

/// References into it stay good: a later type is said by how it differs from an earlier one.
using Types = std::deque<ModelType>;

ModelType& add(Types& types, const ModelType& from, std::string_view name, std::string_view examples) {
    ModelType& type = types.emplace_back(from);
    type.name = name;
    type.examples = examples;
    return type;
}

const BiasRule attention_bias{"attention_bias", false, {"q", "k", "v", "o"}};

/// Pre-norm decoders of the Llama family: RMS norms, rotary positions, SwiGLU.
void add_llama_family(Types& types) {
    ModelType& llama = add(types, {}, "llama", "Llama 2, 3, 3.1; SmolLM2");
    llama.biases = {attention_bias, {"mlp_bias", false, {"up", "down"}}};

    ModelType& smollm3 = add(types, llama, "smollm3", "SmolLM3 3B");
    smollm3.defaults = R"({"num_key_value_heads": 4})";
    smollm3.positions.base = 2e6;
    smollm3.window = {"sliding_window", 0, "", "use_sliding_window"};
    smollm3.special = special::smollm3;
    smollm3.warnings = {"no_rope_layers lists the layers that have RoPE, in spite of its name: every fourth has none"};

    ModelType& mistral = add(types, llama, "mistral", "Mistral 7B; Mistral Small");
    mistral.biases = {};
    mistral.window = {"sliding_window"};

    ModelType& mixtral = add(types, mistral, "mixtral", "Mixtral 8x7B, 8x22B");
    mixtral.expert_fields = ExpertRule{"num_local_experts", "num_experts_per_tok", "intermediate_size"};
    mixtral.experts = ExpertFacts{.routing = "softmax over the chosen", .packing = "separate"};
    mixtral.defaults = R"({"num_experts_per_tok": 2})";
    mixtral.positions.base = 1e6;

    ModelType& qwen2 = add(types, llama, "qwen2", "Qwen2, Qwen2.5");
    qwen2.biases = {{"", true, {"q", "k", "v"}}};
    qwen2.window = {"sliding_window", 0, "", "use_sliding_window"};
    qwen2.warnings = {"q, k and v have biases although no field says so; o has none"};

    ModelType& qwen3 = add(types, qwen2, "qwen3", "Qwen3, Qwen3-Embedding");
    qwen3.biases = {attention_bias};
    qwen3.attention.qk_norm = {"per_head", "rms", true};
    qwen3.defaults = R"({"head_dim": 128})";
    qwen3.warnings = {"Q/K norms act within each head, with one gain of head_dim for all heads"};

    ModelType& qwen3_moe = add(types, qwen3, "qwen3_moe", "Qwen3-30B-A3B, Qwen3-235B-A22B");
    qwen3_moe.expert_fields = ExpertRule{
        "num_experts|num_local_experts", "num_experts_per_tok", "moe_intermediate_size", "", special::sparse_qwen3};
    qwen3_moe.experts = ExpertFacts{.routing = "softmax, then the top k", .normalize = false, .packing = "separate"};
    qwen3_moe.defaults = "{}";

    ModelType& phi3 = add(types, llama, "phi3", "Phi-3 mini, Phi-4");
    phi3.biases = {};
    phi3.ffn.packing = "contiguous";
    phi3.window = {"sliding_window"};
    phi3.names.rotary = "partial_rotary_factor";
    phi3.warnings = {
        "q, k and v lie in one stored matrix, gate and up in another: halves one after the other, gate first"};

    ModelType& olmo = add(types, llama, "olmo", "OLMo 1B, 7B (HF)");
    olmo.biases = {attention_bias};
    olmo.norm = {"layernorm", 1e-5, "none", false, "fp32"};
    olmo.names.eps = "";
    olmo.names.clip = "clip_qkv";
    olmo.warnings = {
        "every norm, the last one included, is a LayerNorm without parameters; its eps is fixed in the code"};

    ModelType& olmo2 = add(types, llama, "olmo2", "OLMo 2 7B, 13B");
    olmo2.placement = Placement::output_only;
    olmo2.biases = {attention_bias};
    olmo2.norm.cast = "after_weight";
    olmo2.attention.qk_norm = {"whole_projection", "rms", true};
    olmo2.warnings = {
        "norms sit on the sublayer's output, before the addition: not Post-LN (after it), not Peri-LN (input too)",
        "post_attention_layernorm is an output norm here; in Llama the same name is the FFN's input norm",
        "Q/K norms act on the whole projection: one head's numbers change the others' denominators"};
    add(types, olmo2, "olmo_1124", "OLMo 2, the name of its first uploads");

    ModelType& olmo3 = add(types, olmo2, "olmo3", "OLMo 3");
    olmo3.window = {"sliding_window", 4};
    olmo3.stretch_when_full = true;

    ModelType& glm = add(types, llama, "glm", "GLM-4-9B-chat (HF)");
    glm.norm.eps = 1.5625e-7;
    glm.ffn.packing = "contiguous";
    glm.biases = {{"attention_bias", false, {"q", "k", "v"}}};
    glm.positions.interleaved = true;
    glm.names.rotary = "partial_rotary_factor";
    glm.defaults = R"({"partial_rotary_factor": 0.5})";
    glm.warnings = {"'GLM-4 9B' is two architectures: glm has two norms a block, glm4 has four"};

    ModelType& glm4 = add(types, glm, "glm4", "GLM-4-9B-0414, GLM-4-32B-0414");
    glm4.placement = Placement::peri;
    glm4.warnings = {"'GLM-4 9B' is two architectures: glm has two norms a block, glm4 has four",
        "post_attention_layernorm is the FFN's input norm here; the output norms are "
        "post_self_attn_layernorm and post_mlp_layernorm"};

    ModelType& stablelm = add(types, llama, "stablelm", "StableLM 3B, StableLM 2");
    stablelm.norm = {"layernorm", 1e-5, "w", true, "fp32"};
    stablelm.names.eps = "layer_norm_eps";
    stablelm.names.rotary = "partial_rotary_factor|rope_pct";
    stablelm.defaults = R"({"partial_rotary_factor": 0.25})";
    stablelm.biases = {{"use_qkv_bias", false, {"q", "k", "v"}}};
    stablelm.special = special::stablelm;

    ModelType& cohere = add(types, llama, "cohere", "Command R, Command R+");
    cohere.placement = Placement::parallel;
    cohere.parallel_norms = 1;
    cohere.norm = {"layernorm", 1e-5, "w", false, "after_weight"};
    cohere.names.eps = "layer_norm_eps";
    cohere.biases = {attention_bias};
    cohere.tied = true;
    cohere.positions.interleaved = true;
    cohere.special = special::cohere;
    cohere.warnings = {"the norm subtracts the mean and has a gain, but no bias"};
}

void add_gemma_family(Types& types) {
    ModelType& gemma = add(types, {}, "gemma", "Gemma 2B, 7B");
    gemma.norm = {"rms", 1e-6, "1+w", false, "after_weight"};
    gemma.activation = gemma.fixed_activation = "gelu_tanh";
    gemma.names.activation = "hidden_activation|hidden_act";
    gemma.biases = {attention_bias};
    gemma.defaults = R"({"head_dim": 256})";
    gemma.tied = gemma.scaled_embedding = true;
    gemma.special = special::gemma;
    gemma.warnings = {"gains are stored as w around 0 and act as 1 + w"};

    ModelType& gemma2 = add(types, gemma, "gemma2", "Gemma 2 2B, 9B, 27B");
    gemma2.placement = Placement::peri;
    gemma2.soft_caps = true;
    gemma2.names.scale = "query_pre_attn_scalar";
    gemma2.window = {"sliding_window|sliding_window_size", 2};
    gemma2.defaults = R"({"head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 4096,
                          "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})";
    gemma2.warnings = {"gains are stored as w around 0 and act as 1 + w",
        "post_attention_layernorm is an output norm here; in Llama the same name is the FFN's input norm"};

    ModelType& text = add(types, gemma2, "gemma3_text", "Gemma 3 1B; the text part of Gemma 3");
    text.attention.qk_norm = {"per_head", "rms", true};
    text.positions = {.base = 1e6, .sliding_base = 1e4};
    text.window = {"sliding_window", 6, "sliding_window_pattern|_sliding_window_pattern"};
    text.defaults = R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                        "query_pre_attn_scalar": 256, "sliding_window": 4096})";

    ModelType& gemma3 = add(types, text, "gemma3", "Gemma 3 4B, 12B, 27B; MedGemma");
    gemma3.text_type = "gemma3_text";
    gemma3.vision_type = "siglip_vision_model";
}

/// Biased LayerNorms and a plain FFN of four times the width.
void add_gpt_family(Types& types) {
    ModelType& gpt2 = add(types, {}, "gpt2", "GPT-2 small to XL");
    gpt2.norm = {"layernorm", 1e-5, "w", true, "fp32"};
    gpt2.ffn.gated = false;
    gpt2.activation = "gelu_new";
    gpt2.ffn_multiple = 4;
    gpt2.names = {.width = "n_embd|hidden_size",
        .layers = "n_layer|num_hidden_layers",
        .heads = "n_head|num_attention_heads",
        .kv_heads = "",
        .head_dim = "",
        .ffn = "n_inner",
        .eps = "layer_norm_epsilon",
        .activation = "activation_function"};
    gpt2.biases = {{"", true, {"q", "k", "v", "o", "up", "down"}}};
    gpt2.tied = true;
    gpt2.positions.kind = "learned";
    gpt2.position_rows = "n_positions|max_position_embeddings";
    gpt2.defaults = R"({"n_positions": 1024})";
    gpt2.path = "h";

    ModelType& gptj = add(types, gpt2, "gptj", "GPT-J 6B");
    gptj.placement = Placement::parallel;
    gptj.parallel_norms = 1;
    gptj.biases = {{"", true, {"up", "down", "head"}}};
    gptj.tied = false;
    gptj.positions = {.kind = "rope", .interleaved = true};
    gptj.position_rows = "";
    gptj.names.rotary = "rotary_dim";
    gptj.defaults = R"({"rotary_dim": 64})";
    gptj.warnings = {"the FFN and the output head have biases, attention has none"};

    ModelType& neox = add(types, {}, "gpt_neox", "GPT-NeoX 20B, Pythia");
    neox.placement = Placement::parallel;
    neox.parallel_norms = 2;
    neox.norm = gpt2.norm;
    neox.ffn.gated = false;
    neox.activation = "gelu";
    neox.names.eps = "layer_norm_eps";
    neox.names.kv_heads = neox.names.head_dim = "";
    neox.names.rotary = "rotary_pct|partial_rotary_factor";
    neox.names.theta = "rotary_emb_base|rope_theta";
    neox.defaults = R"({"rotary_pct": 0.25})";
    neox.biases = {{"attention_bias", true, {"q", "k", "v", "o"}}, {"", true, {"up", "down"}}};
    neox.path = "layers";
    neox.special = special::gpt_neox;

    ModelType& falcon = add(types, neox, "falcon", "Falcon 7B, 40B, 180B; Falcon 2 11B");
    falcon.names.layers = "num_hidden_layers|n_layer";
    falcon.names.heads = "num_attention_heads|n_head";
    falcon.names.eps = "layer_norm_epsilon";
    falcon.names.ffn = "ffn_hidden_size";
    falcon.names.activation = "activation";
    falcon.names.rotary = "";
    falcon.names.theta = "rope_theta";
    falcon.ffn_multiple = 4;
    falcon.defaults = "{}";
    falcon.biases = {{"bias", false, {"q", "k", "v", "o", "up", "down"}}};
    falcon.tied = true;
    falcon.path = "transformer.h";
    falcon.special = special::falcon;
}

/// The first Transformer, encoders, and encoder-decoders.
void add_encoders(Types& types) {
    ModelType& first = add(types, {}, "transformer2017", "Transformer base and big of 2017");
    first.placement = Placement::post;
    first.norm = {"layernorm", 1e-6, "w", true, "fp32"};
    first.ffn.gated = false;
    first.activation = "relu";
    first.names = {.width = "d_model",
        .layers = "num_layers",
        .heads = "num_heads",
        .kv_heads = "",
        .head_dim = "",
        .ffn = "d_ff",
        .eps = "",
        .activation = ""};
    first.biases = {attention_bias, {"", true, {"up", "down"}}};
    first.tied = first.scaled_embedding = true;
    first.final_norm = false;
    first.positions.kind = "sinusoid";
    first.special = special::transformer2017;
    first.warnings = {"one table serves both inputs and the output head",
        "the paper does not say whether attention has biases; attention_bias decides, without it there are none"};

    ModelType& t5 = add(types, {}, "t5", "T5, T5 v1.1, Flan-T5");
    t5.ffn.gated = false;
    t5.names = {.width = "d_model",
        .layers = "num_layers|num_hidden_layers",
        .heads = "num_heads|num_attention_heads",
        .kv_heads = "",
        .head_dim = "d_kv",
        .ffn = "d_ff",
        .eps = "layer_norm_epsilon",
        .activation = ""};
    t5.defaults = R"({"d_kv": 64, "vocab_size": 32128})";
    t5.tied = true;
    t5.positions.kind = "relative";
    t5.special = special::t5;
    t5.warnings = {
        "T5LayerNorm is an RMSNorm: it subtracts no mean and has no bias", "scores are not divided by sqrt(head_dim)"};

    ModelType& bert = add(types, {}, "bert", "BERT base, large");
    bert.placement = Placement::post;
    bert.norm = {"layernorm", 1e-12, "w", true, "fp32"};
    bert.ffn.gated = bert.causal = bert.final_norm = false;
    bert.activation = "gelu";
    bert.names.eps = "layer_norm_eps";
    bert.names.kv_heads = bert.names.head_dim = "";
    bert.biases = {{"", true, {"q", "k", "v", "o", "up", "down"}}};
    bert.positions.kind = "learned";
    bert.position_rows = "max_position_embeddings";
    bert.defaults = R"({"max_position_embeddings": 512, "type_vocab_size": 2})";
    bert.path = "encoder.layer";
    bert.head = "none";
    bert.special = special::bert;
    bert.warnings = {"encoder and pooler are counted, whatever head `architectures` names",
        "'gelu' is the erf form in the library; Google's original code used the tanh form"};

    ModelType& vit = add(types, bert, "vit", "ViT-B/16, ViT-L/16");
    vit.placement = Placement::pre;
    vit.final_norm = true;
    vit.biases = {{"qkv_bias", true, {"q", "k", "v"}}, {"", true, {"o", "up", "down"}}};
    vit.position_rows = "";
    vit.defaults = R"({"image_size": 224, "patch_size": 16, "num_channels": 3, "num_labels": 2})";
    vit.names.vocabulary = "";
    vit.head = "classes";
    vit.special = special::vit;
    vit.warnings = {"eps 1e-12 is the library's; the published code of ViT uses its framework's default"};

    ModelType& vit_22b = add(types, vit, "vit-22b", "ViT-22B, whose paper gives the sizes");
    vit_22b.placement = Placement::parallel;
    vit_22b.parallel_norms = 1;
    vit_22b.norm.bias = false;
    vit_22b.norm.eps = 1e-6;
    vit_22b.attention.qk_norm = {"per_head", "layernorm", true};
    vit_22b.biases = {{"", true, {"o", "up", "down"}}};
    vit_22b.defaults = R"({"hidden_size": 6144, "num_hidden_layers": 48, "num_attention_heads": 48, "image_size": 224,
                           "intermediate_size": 24576, "patch_size": 14, "num_channels": 3, "num_labels": 1000})";
    vit_22b.warnings = {
        "known from its paper alone: 12d² a block are certain (21,743,271,936 in 48), the ends and small vectors are "
        "not"};
}

/// Mixtures of experts with blocks of their own.
void add_expert_families(Types& types) {
    ModelType& oss = add(types, {}, "gpt_oss", "gpt-oss-20b, gpt-oss-120b");
    oss.norm = {"rms", 1e-5, "w", false, "after_weight"};
    oss.fixed_activation = "gpt_oss";
    oss.ffn.packing = "interleaved";
    oss.names.limit = "swiglu_limit";
    oss.defaults = R"({"head_dim": 64, "swiglu_limit": 7.0})";
    oss.biases = {{"attention_bias", true, {"q", "k", "v", "o"}}, {"", true, {"router", "experts"}}};
    oss.window = {"sliding_window", 2};
    oss.attention.sinks = true;
    oss.positions.base = 150000;
    oss.expert_fields =
        ExpertRule{"num_local_experts|num_experts", "num_experts_per_tok|experts_per_token", "intermediate_size"};
    oss.experts = ExpertFacts{.routing = "top k, then softmax over the chosen", .packing = "interleaved"};
    oss.warnings = {"hidden_act does not say what runs: min(g, 7) sigmoid(1.702 g) (clip(u, 7) + 1)",
        "gate and up are interleaved: even columns gate, odd columns up",
        "intermediate_size is the width of one expert"};

    ModelType& llama4 = add(types, {}, "llama4_text", "the text part of Llama 4");
    llama4.norm.eps = 1e-5;
    llama4.attention.qk_norm = {"per_head", "rms", false, false, "after RoPE, on layers with RoPE only", true};
    llama4.biases = {attention_bias};
    llama4.names.ffn = "intermediate_size_mlp";
    llama4.defaults = R"({"head_dim": 128, "intermediate_size_mlp": 16384})";
    llama4.positions = {.interleaved = true, .base = 500000};
    llama4.expert_fields =
        ExpertRule{"num_local_experts", "num_experts_per_tok", "intermediate_size", "", special::sparse_llama4};
    llama4.experts = ExpertFacts{.routing = "sigmoid of the chosen, on the expert's input",
        .scoring = "sigmoid",
        .normalize = false,
        .weight_input = true,
        .packing = "contiguous"};
    llama4.other_layers = "chunked_attention"; // those with RoPE, as no_rope_layers says
    llama4.special = special::llama4;
    llama4.warnings = {"the Q/K norm called L2Norm divides by the root of the mean square: an RMS norm without a gain",
        "intermediate_size is the width of an expert and of the shared expert; dense layers have intermediate_size_mlp",
        "17B in the model's name is what one token uses"};
    ModelType& scout = add(types, llama4, "llama4", "Llama 4 Scout, Maverick");
    scout.text_type = "llama4_text";
    scout.vision_type = "llama4_vision_model";

    ModelType& v3 = add(types, {}, "deepseek_v3", "DeepSeek-V3, R1");
    v3.names.kv_heads = v3.names.head_dim = "";
    v3.biases = {};
    v3.positions.interleaved = true;
    v3.expert_fields = ExpertRule{"n_routed_experts", "num_experts_per_tok", "moe_intermediate_size",
        "n_shared_experts", special::sparse_deepseek};
    v3.experts = ExpertFacts{.routing = "sigmoid, corrected for the choice, groups first",
        .scoring = "sigmoid",
        .packing = "separate",
        .correction_buffer = true};
    v3.defaults = R"({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
                      "v_head_dim": 128, "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3,
                      "routed_scaling_factor": 2.5})";
    v3.special = special::deepseek_v3;
    v3.warnings = {
        "num_key_value_heads says nothing about the projections: keys and values come from one latent vector"};
    ModelType& mtp = add(types, v3, "deepseek_v3+mtp", "DeepSeek-V3 with its multi-token-prediction module");
    mtp.special = special::deepseek_v3_mtp;

    ModelType& v4 = add(types, v3, "deepseek_v4", "DeepSeek-V4-Flash");
    v4.placement = Placement::mhc;
    v4.attention.qk_norm = {
        "per_head", "rms", false, false, "queries without a gain; the one key, which is also the value, with one"};
    v4.names.head_dim = "head_dim";
    v4.names.limit = "swiglu_limit";
    v4.names.ffn = "";
    v4.window = {"sliding_window"};
    v4.attention.sinks = true;
    v4.expert_fields->sparse = nullptr;
    v4.experts->packing = "contiguous";
    v4.experts->scoring = "sqrt_softplus";
    v4.experts->routing = "sqrt(softplus), corrected for the choice; the first layers by a frozen table";
    v4.defaults = R"({"num_experts_per_tok": 6, "n_shared_experts": 1, "swiglu_limit": 10.0, "hc_mult": 4,
                      "num_hash_layers": 3, "routed_scaling_factor": 1.5, "index_head_dim": 128, "index_n_heads": 64, "sliding_window": 128})";
    v4.special = special::deepseek_v4;
    v4.warnings = {"mHC: the block is Pre-LN inside, but runs on hc_mult residual streams that a Sinkhorn matrix mixes",
        "swiglu_limit has gpt-oss's clamps without its + 1 and its 1.702",
        "num_key_value_heads 1: one vector of head_dim is key and value of all heads"};
}

/// Kinds of models that carry a config.json too, but no Transformer language or vision encoder of the table.
struct OtherKind {
    std::string_view kind;
    std::vector<std::string_view> types;
};

const std::vector<OtherKind>& other_kinds() {
    static const std::vector<OtherKind> kinds = {
        {"speech", {"whisper", "wav2vec2", "wav2vec2-conformer", "wav2vec2-bert", "hubert", "wavlm", "unispeech", "sew",
                       "speecht5", "speech_to_text", "bark", "vits", "encodec", "musicgen", "seamless_m4t", "clap",
                       "moonshine"}},
        {"diffusion", {"unet", "vae", "stable-diffusion", "sdxl", "flux", "ddpm", "controlnet", "pixart", "dit"}},
        {"detection", {"detr", "conditional_detr", "deformable_detr", "deta", "dab-detr", "rt_detr", "yolos", "owlvit",
                          "owlv2", "grounding-dino", "table-transformer", "mask2former", "maskformer", "sam"}},
        {"image-and-text embedding", {"clip", "siglip", "siglip2", "align", "blip", "blip-2"}},
        {"state-space or recurrent", {"mamba", "mamba2", "rwkv", "falcon_mamba", "recurrent_gemma", "jamba"}},
        {"convolutional", {"resnet", "convnext", "convnextv2", "efficientnet", "mobilenet_v2", "regnet"}},
        {"time-series", {"informer", "autoformer", "patchtst", "time_series_transformer"}},
    };
    return kinds;
}

} // namespace

const std::vector<ModelType>& model_types() {
    static const std::vector<ModelType> all = [] {
        Types types;
        add_llama_family(types);
        add_gemma_family(types);
        add_gpt_family(types);
        add_encoders(types);
        add_expert_families(types);
        std::sort(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
        return std::vector<ModelType>(types.begin(), types.end());
    }();
    return all;
}

std::string facts_line(const ModelType& type) {
    const std::string norm = fmt::format("{}{}", type.norm.kind == "rms" ? "RMS norm" : "LayerNorm",
        type.norm.gain == "none"  ? " without gain"
        : type.norm.gain == "1+w" ? " (gain 1 + w)"
                                  : "");
    const std::string_view activation = type.fixed_activation.empty() ? type.activation : type.fixed_activation;
    std::string line = fmt::format("{}; {}; {} {}", name(type.placement), norm, type.ffn.gated ? "gated" : "plain",
        type.name == "t5" ? "relu, or gated gelu" : activation);
    if (type.expert_fields) line += ", experts";
    if (type.attention.qk_norm.axis != "none") line += fmt::format("; Q/K norm {}", type.attention.qk_norm.axis);
    return line + "; " + std::string(type.examples);
}

const ModelType& find_model_type(std::string_view name) {
    std::vector<std::string> names;
    for (const ModelType& type : model_types()) {
        if (type.name == name) return type;
        names.emplace_back(type.name);
    }
    for (const OtherKind& other : other_kinds())
        if (std::find(other.types.begin(), other.types.end(), name) != other.types.end())
            throw Error(
                fmt::format("config: model_type '{}' is a {} model; 'chalkgrad list models' shows the kinds "
                            "that can be read",
                    name, other.kind));
    throw Error(
        fmt::format("config: model_type '{}' is not known{}; a cousin's count would be a guess: 'chalkgrad list "
                    "models' shows the {} types there are",
            name, did_you_mean(name, names), names.size()));
}

std::string_view ffn_kind(std::string_view activation, bool gated) {
    if (!gated) return "mlp";
    if (activation == "silu") return "swiglu";
    if (activation == "relu") return "reglu";
    return activation == "gpt_oss" ? "gpt_oss" : "geglu";
}

std::string_view ModelDescription::residual() const {
    struct Steps {
        Placement value;
        std::string_view name;
    };
    static constexpr Steps steps[] = {{Placement::pre, "h = x + A(N1(x)); y = h + F(N2(h))"},
        {Placement::post, "h = N1(x + A(x)); y = N2(h + F(h))"},
        {Placement::deepnorm, "h = N1(x + A(x)); y = N2(h + F(h))"},
        {Placement::peri, "h = x + N2(A(N1(x))); y = h + N4(F(N3(h)))"},
        {Placement::output_only, "h = x + N1(A(x)); y = h + N2(F(h))"},
        {Placement::parallel, "y = x + A(N1(x)) + F(N2(x))"},
        {Placement::mhc, "X' = comb^T X + post outer A(N1(sum_i pre_i X_i)); Y = the same with F and N2"}};
    if (placement == Placement::parallel && parallel_norms == 1) return "y = x + A(N(x)) + F(N(x))";
    return word_of("placement", steps, placement).name;
}

} // namespace chalkgrad::nn
