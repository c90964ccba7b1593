// One reader for all model types: the columns of the table, then the type's own function.
#include <chalkgrad/nn/models/config.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/nn/models/types.hpp>

namespace chalkgrad::nn {
namespace {

constexpr std::int64_t most_layers = 100'000;

/// The op a config's word for an activation means.
std::string_view activation_op(const ConfigFields& fields, const std::string& word) {
    static const std::vector<std::pair<std::string_view, std::string_view>> words = {{"silu", "silu"},
        {"swish", "silu"}, {"gelu", "gelu_erf"}, {"gelu_new", "gelu_tanh"}, {"gelu_fast", "gelu_tanh"},
        {"gelu_pytorch_tanh", "gelu_tanh"}, {"gelu_tanh", "gelu_tanh"}, {"gelu_python", "gelu_erf"}, {"relu", "relu"},
        {"quick_gelu", "quick_gelu"}};
    std::vector<std::string_view> known;
    for (const auto& [its, op] : words) {
        if (its == word) return op;
        known.push_back(its);
    }
    fields.refuse(fmt::format("the activation '{}' is not known; there are {}", word, fmt::join(known, ", ")));
}

bool has_bias(const ModelType& type, const ConfigFields& fields, std::string_view matrix) {
    for (const BiasRule& rule : type.biases)
        if (std::find(rule.of.begin(), rule.of.end(), matrix) != rule.of.end())
            return rule.field.empty() ? rule.otherwise : fields.flag(rule.field, rule.otherwise);
    return false;
}

void read_attention(const ModelType& type, const ConfigFields& fields, ModelDescription& m) {
    AttentionFacts& a = m.attention;
    a.heads = fields.size(type.names.heads);
    a.kv_heads = type.names.kv_heads.empty() ? a.heads : fields.optional_size(type.names.kv_heads).value_or(a.heads);
    const auto head_dim = type.names.head_dim.empty() ? std::nullopt : fields.optional_size(type.names.head_dim);
    const bool latent = type.expert_fields && !type.expert_fields->shared.empty();
    if (a.kv_heads > a.heads)
        fields.refuse(
            fmt::format("{} is {}, more than the {} query heads", spoken(type.names.kv_heads), a.kv_heads, a.heads));
    if (a.heads % a.kv_heads != 0)
        fields.refuse(fmt::format("{} query heads do not divide among {} KV heads", a.heads, a.kv_heads));
    if (!head_dim && !latent && m.width % a.heads != 0)
        fields.refuse(fmt::format("{} {} does not divide among {} heads, and there is no head_dim",
            spoken(type.names.width), m.width, a.heads));
    a.head_dim = head_dim.value_or(m.width / a.heads);
    if (a.head_dim == 0 && !latent) fields.refuse("a head has no features");
    for (const std::string_view matrix : {"q", "k", "v", "o"})
        if (has_bias(type, fields, matrix)) a.biases.push_back(matrix);
    if (!type.names.clip.empty()) a.clip = fields.nullable(type.names.clip);
    a.scale = type.names.scale.empty() ? 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(a.head_dim, 1)))
                                       : 1 / std::sqrt(fields.positive(type.names.scale, 256));
    if (type.soft_caps) {
        a.softcap = fields.nullable("attn_logit_softcapping");
        m.final_softcap = fields.nullable("final_logit_softcapping");
    }
}

void read_ffn(const ModelType& type, const ConfigFields& fields, ModelDescription& m) {
    FfnFacts& ffn = m.ffn;
    const std::string word = type.names.activation.empty() ? std::string(type.activation)
                                                           : fields.word(type.names.activation, type.activation);
    ffn.activation = activation_op(fields, word);
    if (!type.fixed_activation.empty()) {
        if (ffn.activation.substr(0, 4) != type.activation.substr(0, 4)) // "gelu" is said of both its forms
            m.warnings.push_back(fmt::format(
                "{} is '{}', but this type runs {}", spoken(type.names.activation), word, type.fixed_activation));
        ffn.activation = type.fixed_activation;
    }
    ffn.kind = ffn_kind(ffn.activation, ffn.gated);
    if (!ffn.gated) ffn.packing = "none";
    if (!type.names.limit.empty()) ffn.limit = fields.nullable(type.names.limit);
    ffn.up_bias = has_bias(type, fields, "up");
    ffn.down_bias = has_bias(type, fields, "down");
    const std::vector<LayerFacts>& layers = m.stacks[0].layers;
    if (std::all_of(layers.begin(), layers.end(), [](const LayerFacts& layer) { return layer.experts; })) return;
    const auto width = fields.optional_size(type.names.ffn);
    if (!width && type.ffn_multiple > 0) {
        if (m.width > INT64_MAX / type.ffn_multiple)
            fields.refuse(fmt::format("{} {} is absurd", spoken(type.names.width), m.width));
        ffn.width = type.ffn_multiple * m.width;
    } else {
        ffn.width = width ? *width : fields.size(type.names.ffn);
    }
}

void read_experts(const ModelType& type, const ConfigFields& fields, ModelDescription& m) {
    const ExpertRule& rule = *type.expert_fields;
    std::vector<LayerFacts>& layers = m.stacks[0].layers;
    const auto sparse = rule.sparse ? rule.sparse(fields, static_cast<std::int64_t>(layers.size()))
                                    : std::vector<bool>(layers.size(), true);
    for (std::size_t i = 0; i < layers.size(); ++i) layers[i].experts = sparse[i];
    if (std::find(sparse.begin(), sparse.end(), true) == sparse.end()) return m.experts.reset();
    ExpertFacts& experts = *m.experts;
    experts.count = fields.size(rule.count);
    experts.chosen = fields.size(rule.chosen);
    if (experts.chosen > experts.count)
        fields.refuse(fmt::format("{} experts are chosen of {}", experts.chosen, experts.count));
    experts.width = fields.size(rule.width);
    if (!rule.shared.empty()) {
        const std::int64_t shared = fields.count(rule.shared, 0);
        if (shared > INT64_MAX / experts.width) fields.refuse(fmt::format("{} {} is absurd", rule.shared, shared));
        experts.shared_width = shared * experts.width;
    }
    experts.router_bias = has_bias(type, fields, "router");
    experts.bias = has_bias(type, fields, "experts");
    experts.normalize = fields.flag("norm_topk_prob", experts.normalize);
    experts.scale = fields.positive("routed_scaling_factor", 1);
    experts.correction_buffer = experts.correction_buffer && fields.word("topk_method", "noaux_tc") == "noaux_tc";
}

std::string in_words(std::int64_t period) {
    return period == 0   ? "all"
           : period == 2 ? "every second layer, from the first"
                         : fmt::format("all but every {}th layer", period);
}

void read_window(const ModelType& type, const ConfigFields& fields, ModelDescription& m) {
    const WindowRule& rule = type.window;
    std::vector<LayerFacts>& layers = m.stacks[0].layers;
    const std::vector<std::string> listed = fields.words("layer_types");
    if (!listed.empty() && listed.size() != layers.size())
        fields.refuse(fmt::format("layer_types has {} entries for {} layers", listed.size(), layers.size()));
    const std::int64_t first = rule.switched_by.empty() ? 0 : fields.count("max_window_layers", 0);
    const auto other = std::find_if(listed.begin(), listed.end(),
        [&](const std::string& word) { return word != "full_attention" && word != type.other_layers; });
    const bool windows = !rule.field.empty() && fields.nullable(rule.field);
    if (!windows && other != listed.end())
        m.warnings.push_back(fmt::format("layer_types holds '{}', but {}", *other,
            rule.field.empty() ? "this type has no such layers" : "there is no window"));
    if (rule.field.empty() && fields.has("sliding_window"))
        m.warnings.emplace_back("sliding_window is there, but this type has no windows");
    if (!windows) return;
    const std::int64_t window = fields.size(rule.field);
    if (!rule.switched_by.empty() && !fields.flag(rule.switched_by, false)) {
        m.warnings.push_back(fmt::format("{} {} is inert: {} is not true", rule.field, window, rule.switched_by));
        return;
    }
    std::int64_t period = rule.period;
    if (!rule.period_field.empty()) period = fields.optional_size(rule.period_field).value_or(period);
    std::size_t sliding = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (!listed.empty() && listed[i] != "sliding_attention" && listed[i] != "full_attention")
            fields.refuse(
                fmt::format("layer_types holds '{}'; sliding_attention and full_attention are known", listed[i]));
        const auto n = static_cast<std::int64_t>(i);
        layers[i].sliding =
            listed.empty() ? n >= first && (period == 0 || (n + 1) % period != 0) : listed[i] == "sliding_attention";
        sliding += layers[i].sliding;
    }
    if (sliding == 0) return;
    m.attention.window = window;
    m.attention.window_layers =
        listed.empty() && first == 0 ? in_words(period) : fmt::format("{} of {} layers", sliding, layers.size());
}

ModelDescription read_text(const ModelType& type, const ConfigFields& raw) {
    const ConfigFields fields = raw.with_defaults(fmt::format("config ({})", type.name), type.defaults);
    ModelDescription m = type;
    m.model_type = type.name;
    m.width = fields.size(type.names.width);
    if (!type.names.vocabulary.empty()) m.vocabulary = fields.size(type.names.vocabulary);
    const std::int64_t layers = fields.size(type.names.layers);
    if (layers > most_layers)
        fields.refuse(fmt::format("{} is {}; more than {} is absurd", spoken(type.names.layers), layers, most_layers));
    m.stacks = {
        {std::string(type.path), type.causal, false, std::vector<LayerFacts>(static_cast<std::size_t>(layers))}};
    if (!type.names.eps.empty()) m.norm.eps = fields.positive(type.names.eps, type.norm.eps);
    m.tied = type.head == "vocabulary" && fields.flag(type.names.tied, type.tied);
    m.head_bias = has_bias(type, fields, "head");
    if (type.scaled_embedding) m.embedding_scale = std::sqrt(static_cast<double>(m.width));

    read_attention(type, fields, m);
    if (type.expert_fields) read_experts(type, fields, m);
    read_ffn(type, fields, m);
    read_positions(type, fields, m);
    read_window(type, fields, m);
    if (type.special) type.special(fields, m);
    if (m.positions.kind == "rope") read_stretch(type, fields, m);
    read_unbuilt(type, fields, m);

    if (type.head == "vocabulary" && !fields.has(type.names.tied))
        m.warnings.push_back(fmt::format("tie_word_embeddings is absent: the class default, {}, is used", type.tied));
    const AttentionFacts& a = m.attention;
    if (!a.latent && (a.heads > INT64_MAX / a.head_dim || a.heads * a.head_dim != m.width))
        m.warnings.push_back(
            fmt::format("{} heads of {} features are not the width {}: the output projection is not square", a.heads,
                a.head_dim, m.width));
    if (m.experts && type.expert_fields->width != type.names.ffn && m.ffn.width == 0 && fields.has(type.names.ffn))
        m.warnings.push_back(fmt::format("{} is unused: every layer has experts", type.names.ffn));
    return m;
}

VisionFacts read_vision(const ModelType& type, const ConfigFields& raw) {
    const ConfigFields fields = raw.with_defaults(fmt::format("config ({}): vision_config", type.name),
        R"({"num_channels": 3, "projector_input_dim": 4096, "projector_output_dim": 4096, "vision_output_dim": 4096})");
    const std::string kind = fields.word("model_type", type.vision_type);
    if (kind != type.vision_type)
        fields.refuse(fmt::format("model_type is '{}'; {} has a tower of type {}", kind, type.name, type.vision_type));
    VisionFacts v;
    v.kind = type.vision_type;
    v.width = fields.size("hidden_size");
    v.ffn_width = fields.size("intermediate_size");
    v.layers = fields.size("num_hidden_layers");
    if (v.layers > most_layers)
        fields.refuse(fmt::format("num_hidden_layers is {}; more than {} is absurd", v.layers, most_layers));
    v.image = fields.size("image_size");
    v.patch = fields.size("patch_size");
    v.channels = fields.size("num_channels");
    for (const char* field : {"hidden_size", "intermediate_size", "patch_size", "num_channels"})
        if (fields.size(field) > 1'000'000) fields.refuse(fmt::format("{} {} is absurd", field, fields.size(field)));
    if (v.patch > v.image || v.image / v.patch > 1'000'000)
        fields.refuse(fmt::format("patch_size {} does not fit image_size {}", v.patch, v.image));
    v.heads = fields.optional_size("num_attention_heads").value_or(v.width % 16 == 0 ? 16 : 1);
    if (v.width % v.heads != 0)
        fields.refuse(fmt::format("hidden_size {} does not divide among {} heads", v.width, v.heads));
    const bool siglip = type.vision_type == "siglip_vision_model";
    v.activation = activation_op(fields, fields.word("hidden_act", siglip ? "gelu_pytorch_tanh" : "gelu"));
    v.eps = fields.positive("layer_norm_eps|norm_eps", siglip ? 1e-6 : 1e-5);
    v.pooling_head = siglip && fields.flag("vision_use_head", true);
    if (!siglip) {
        fields.has("rope_theta"); // of rotations that a tower is built without
        const double ratio = fields.positive("pixel_shuffle_ratio", 0.5);
        v.shuffled = static_cast<std::int64_t>(static_cast<double>(v.width) / (ratio * ratio));
        v.projector_in = fields.size("projector_input_dim");
        v.projector_out = fields.size("projector_output_dim");
        v.out = fields.size("vision_output_dim");
    }
    return v;
}

/// The type a config names, or the one whose schema has no name for it.
std::string type_name(const ConfigFields& fields) {
    if (fields.has("_class_name") || fields.has("_diffusers_version"))
        throw Error(fmt::format(
            "config: {} is part of a diffusion model; 'chalkgrad list models' shows the kinds that can be read",
            fields.word("_class_name", "this")));
    const std::string name = fields.word("model_type", "");
    if (!name.empty()) return name;
    if (fields.has("num_experts") && fields.has("experts_per_token") && fields.has("swiglu_limit")) return "gpt_oss";
    throw Error(
        "config: model_type is missing; without it a block's placement would be a guess ('chalkgrad list models' "
        "shows the types)");
}

} // namespace

ModelDescription read_model_config(std::string_view json) {
    const ConfigFields fields = ConfigFields::parse(json);
    const ModelType& type = find_model_type(type_name(fields));
    if (type.text_type.empty()) {
        ModelDescription m = read_text(type, fields);
        warn_of_unread(fields, m);
        if (!fields.has("model_type"))
            m.warnings.emplace_back(
                "OpenAI's own schema: no model_type, no hidden_act and no eps; recognised by its fields");
        return m;
    }
    const ConfigFields text = fields.section("text_config");
    const std::string inner = text.word("model_type", type.text_type);
    if (inner != type.text_type)
        fields.refuse(
            fmt::format("text_config says model_type '{}'; in {} it must be {}", inner, type.name, type.text_type));
    ModelDescription m = read_text(find_model_type(type.text_type), text);
    m.model_type = type.name;
    if (fields.has("tie_word_embeddings")) {
        const bool outer = fields.flag("tie_word_embeddings", m.tied);
        if (text.has("tie_word_embeddings") && text.flag("tie_word_embeddings", outer) != outer)
            fields.refuse(
                fmt::format("tie_word_embeddings is {} outside and {} in text_config; keep one", outer, !outer));
        m.tied = outer;
    }
    m.vision = read_vision(type, fields.section("vision_config"));
    m.vision->tokens = fields.count("mm_tokens_per_image", 256);
    warn_of_unread(fields, m);
    return m;
}

} // namespace chalkgrad::nn
