// Positions in config.json: kind, base, rotated features and stretch, in the old fields and in rope_parameters.
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/nn/models/types.hpp>

namespace chalkgrad::nn {
namespace {

/// The object that newer configs keep base, share and stretch of the rotary positions in, or one for each kind of
/// layer; in older ones it holds the stretch.
struct RopeParameters {
    std::string_view field;
    std::optional<ConfigFields> full{}, sliding{};
};

RopeParameters rope_parameters(const ConfigFields& fields) {
    RopeParameters found{.field = fields.has("rope_parameters") ? "rope_parameters" : "rope_scaling"};
    if (!fields.has(found.field)) return found;
    const ConfigFields all = fields.section(found.field);
    for (const std::string& name : all.names()) {
        if (!all.is_object(name)) continue;
        if (name == "full_attention") found.full = all.section(name);
        else if (name == "sliding_attention") found.sliding = all.section(name);
        else
            fields.refuse(
                fmt::format("{} has a part '{}'; full_attention and sliding_attention are known", found.field, name));
    }
    if (!found.full && !found.sliding) found.full = all;
    return found;
}

/// The base in rope_parameters, in the old field, or of the class; two that differ are refused.
double base_of(const ConfigFields& fields, std::string_view old, std::string_view field,
    const std::optional<ConfigFields>& part, double otherwise) {
    const double base = fields.positive(old, otherwise);
    if (!part || !part->has("rope_theta")) return base;
    const double newer = part->positive("rope_theta", otherwise);
    if (fields.has(old) && newer != base)
        fields.refuse(fmt::format("{} is {} but rope_theta in {} is {}; keep one", spoken(old), base, field, newer));
    return newer;
}

/// YaRN's attention factor at a stretch of `factor`, as in its paper; `weight` is a field that DeepSeek added.
double yarn_magnitude(double factor, double weight = 1) { return factor > 1 ? 0.1 * weight * std::log(factor) + 1 : 1; }

RopeScaling stretch_of(
    const ConfigFields& scaling, std::string_view where, const ConfigFields& fields, ModelDescription& m) {
    RopeScaling s;
    const std::string word = scaling.word("rope_type|type", "default");
    if (word == "default") return s;
    const auto kind = stretch_named(word);
    if (!kind || *kind == RopeScaling::Kind::none) {
        m.warnings.push_back(fmt::format("{} is of type '{}', which the modules do not build", where, word));
        return s;
    }
    s.kind = *kind;
    s.factor = scaling.positive("factor", 1);
    if (s.kind == RopeScaling::Kind::linear) return s;
    s.context = scaling.positive(
        "original_max_position_embeddings", fields.positive("original_max_position_embeddings|initial_context_length",
                                                fields.positive("max_position_embeddings", 2048)));
    if (s.kind == RopeScaling::Kind::llama3) {
        s.slow = scaling.positive("low_freq_factor", 1);
        s.fast = scaling.positive("high_freq_factor", 4);
    } else {
        s.slow = scaling.positive("beta_slow", 1);
        s.fast = scaling.positive("beta_fast", 32);
        s.whole_pairs = scaling.flag("truncate", true);
        const auto all = scaling.nullable("mscale_all_dim");
        s.magnitude = scaling.positive("attention_factor",
            all ? yarn_magnitude(s.factor, scaling.positive("mscale", 1)) / yarn_magnitude(s.factor, *all)
                : yarn_magnitude(s.factor));
        // DeepSeek-V3 puts the factor into the scores' scale, once for queries and once for keys.
        if (all && m.attention.latent) m.attention.scale *= std::pow(yarn_magnitude(s.factor, *all), 2);
    }
    if (s.slow >= s.fast)
        fields.refuse(fmt::format("{} rises from {} to {} turns; the second must be larger", where, s.slow, s.fast));
    return s;
}

} // namespace

void read_positions(const ModelType& type, const ConfigFields& fields, ModelDescription& m) {
    PositionFacts& p = m.positions;
    if (!type.position_rows.empty()) p.rows = fields.size(type.position_rows);
    if (p.kind != "rope") return;
    const RopeParameters found = rope_parameters(fields);
    p.base = base_of(fields, type.names.theta, found.field, found.full, type.positions.base);
    if (type.positions.sliding_base || found.sliding) {
        p.sliding_base = base_of(fields, "rope_local_base_freq", found.field, found.sliding,
            type.positions.sliding_base.value_or(type.positions.base));
        if (type.window.field.empty())
            m.warnings.push_back(
                fmt::format("{} has a part sliding_attention, but this type has no windows", found.field));
    }
    p.rotary_dim = m.attention.head_dim;
    const auto share_in = [&](const std::optional<ConfigFields>& part, double otherwise) {
        return part ? part->positive("partial_rotary_factor", otherwise) : otherwise;
    };
    if (type.names.rotary.empty()) {
        if (const double share = share_in(found.full, 1); share != 1)
            m.warnings.push_back(
                fmt::format("partial_rotary_factor {} in {} is not read: this type turns all features of a head", share,
                    found.field));
        return;
    }
    // A fraction of a head, or a number of features.
    const double share = share_in(found.full, fields.nullable(type.names.rotary).value_or(1)); // null: all of it
    if (share_in(found.sliding, share) != share)
        fields.refuse(fmt::format(
            "partial_rotary_factor differs between the parts of {}; one for all layers is known", found.field));
    p.rotary_dim = static_cast<std::int64_t>(share <= 1 ? share * static_cast<double>(m.attention.head_dim) : share);
    if (p.rotary_dim > m.attention.head_dim)
        fields.refuse(fmt::format("{} features are rotated, but a head has {}", share, m.attention.head_dim));
}

void read_stretch(const ModelType& type, const ConfigFields& fields, ModelDescription& m) {
    PositionFacts& p = m.positions;
    const RopeParameters found = rope_parameters(fields);
    if (fields.has("rope_scaling_factor")) { // OpenAI's own schema
        RopeScaling& s = p.stretch;
        s = {.kind = RopeScaling::Kind::yarn,
            .factor = fields.positive("rope_scaling_factor", 1),
            .context = fields.positive("initial_context_length", 4096),
            .slow = fields.positive("rope_ntk_alpha", 1),
            .fast = fields.positive("rope_ntk_beta", 32),
            .whole_pairs = false};
        s.magnitude = yarn_magnitude(s.factor);
    } else {
        if (found.field == "rope_parameters" && fields.has("rope_scaling"))
            m.warnings.emplace_back("rope_scaling is not read: rope_parameters is there");
        if (found.full) p.stretch = stretch_of(*found.full, found.field, fields, m);
        if (found.sliding) p.sliding_stretch = stretch_of(*found.sliding, found.field, fields, m);
    }
    const bool stretched = p.stretch.kind != RopeScaling::Kind::none;
    if (type.stretch_when_full && stretched && !p.sliding_base) p.sliding_base = p.base;
    if (stretched && m.attention.latent && m.attention.latent->out_groups > 0)
        m.warnings.push_back(fmt::format(
            "the stretch of positions ({}) is not built by the modules of this type", name(p.stretch.kind)));
}

} // namespace chalkgrad::nn
