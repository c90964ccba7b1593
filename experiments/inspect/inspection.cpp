// Reading a config file within bounds, and its facts as JSON.
#include <chalkgrad/experiments/inspect/inspection.hpp>

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/nn/models/config.hpp>

namespace chalkgrad {
namespace {

using nlohmann::json;

template <class T> json or_null(const std::optional<T>& value) { return value ? json(*value) : json(); }

/// The matrices of the FFN, or of each expert, that have a bias.
std::vector<std::string_view> biased_matrices(const nn::ModelDescription& m) {
    const bool experts = m.experts && m.experts->bias;
    std::vector<std::string_view> matrices;
    if ((m.ffn.up_bias || experts) && m.ffn.gated) matrices.push_back("gate");
    if (m.ffn.up_bias || experts) matrices.push_back("up");
    if (m.ffn.down_bias || experts) matrices.push_back("down");
    return matrices;
}

json ffn_facts(const nn::ModelDescription& m) {
    const nn::FfnFacts& ffn = m.ffn;
    const std::string kind(ffn.kind);
    json facts = {{"kind", m.experts ? "moe_" + kind : kind}, {"activation", ffn.activation}, {"gated", ffn.gated},
        {"packing", m.experts ? m.experts->packing : ffn.packing}, {"limit", or_null(ffn.limit)},
        {"width", ffn.width > 0 ? json(ffn.width) : json()}, {"biases", biased_matrices(m)}};
    if (m.experts) {
        const nn::ExpertFacts& e = *m.experts;
        facts["experts"] = {{"count", e.count}, {"per_token", e.chosen}, {"width", e.width},
            {"shared_width", e.shared_width}, {"routing", e.routing}, {"router_bias", e.router_bias}, {"bias", e.bias}};
    }
    return facts;
}

json stretch_facts(const RopeScaling& stretch) {
    if (stretch.kind == RopeScaling::Kind::none) return {};
    json facts = {{"kind", name(stretch.kind)}, {"factor", stretch.factor}};
    if (stretch.kind == RopeScaling::Kind::linear) return facts;
    facts.update({{"context", stretch.context}, {"slow", stretch.slow}, {"fast", stretch.fast}});
    if (stretch.kind == RopeScaling::Kind::yarn)
        facts.update({{"whole_pairs", stretch.whole_pairs}, {"magnitude", stretch.magnitude}});
    return facts;
}

json attention_facts(const nn::ModelDescription& m) {
    const nn::AttentionFacts& a = m.attention;
    json facts = {{"heads", a.heads}, {"kv_heads", a.kv_heads}, {"head_dim", a.head_dim}, {"biases", a.biases},
        {"window", or_null(a.window)}, {"window_layers", a.window ? json(a.window_layers) : json()},
        {"softcap", or_null(a.softcap)}, {"sinks", a.sinks}, {"scale", a.scale},
        {"positions", {{"kind", m.positions.kind}, {"rotary_dim", m.positions.rotary_dim}, {"base", m.positions.base},
                          {"stretch", stretch_facts(m.positions.stretch)},
                          {"pairs", m.positions.kind != "rope" ? "none"
                                    : m.positions.interleaved  ? "interleaved"
                                                               : "halves"}}}};
    if (m.positions.sliding_base) {
        facts["positions"]["sliding_base"] = *m.positions.sliding_base;
        facts["positions"]["sliding_stretch"] = stretch_facts(m.positions.sliding_stretch);
    }
    if (a.latent) facts["latent"] = {{"q_rank", a.latent->q_rank}, {"kv_rank", a.latent->kv_rank}};
    return facts;
}

json parameters(const nn::ModelLedger& ledger) {
    json components = json::object(), blocks = json::array();
    for (const auto& [name, count] : ledger.components) components[name] = count;
    for (const nn::BlockCount& block : ledger.blocks) {
        blocks.push_back({{"count", block.count}, {"parameters", block.parameters}, {"first", block.first},
            {"formula", block.formula}});
        if (!block.in_width.empty()) blocks.back()["in_width"] = block.in_width;
    }
    return {{"distinct", ledger.distinct}, {"stored_aliases", ledger.stored_aliases}, {"buffers", ledger.buffers},
        {"by_component", components}, {"per_block", blocks}, {"active_per_token", ledger.active_per_token}};
}

} // namespace

Inspection inspect_config(const char* command, const std::filesystem::path& config) {
    try {
        // Enough for the reader to refuse what is larger, and an end for devices that have none.
        nn::ModelDescription model = nn::read_model_config(read_file(config, std::size_t(9) << 20));
        nn::ModelLedger ledger = nn::model_ledger(model);
        return {std::move(model), std::move(ledger)};
    } catch (const Error& error) { throw Error(fmt::format("{}: '{}': {}", command, config.string(), error.what())); }
}

json to_json(const Inspection& inspection) {
    const nn::ModelDescription& m = inspection.model;
    const nn::QkNormFacts& qk = m.attention.qk_norm;
    json document = {{"model_type", m.model_type}, {"placement", name(m.placement)}, {"residual", m.residual()},
        {"norm", {{"kind", m.norm.kind}, {"eps", m.norm.eps}, {"gain", m.norm.gain}, {"bias", m.norm.bias},
                     {"cast", m.norm.cast}}},
        {"qk_norm", {{"axis", qk.axis}, {"kind", qk.kind}, {"learned", qk.learned}, {"note", qk.note}}},
        {"ffn", ffn_facts(m)}, {"attention", attention_facts(m)}, {"width", m.width}, {"vocabulary", m.vocabulary},
        {"layers", m.layer_count()}, {"tied_embeddings", m.tied}, {"parameters", parameters(inspection.ledger)},
        {"formula", inspection.ledger.formula}, {"warnings", m.warnings}};
    if (m.placement == nn::Placement::parallel) document["norms_per_block"] = m.parallel_norms;
    if (m.streams > 1) document["streams"] = m.streams;
    return document;
}

} // namespace chalkgrad
