// The table of changes, and how each is made.
#include <chalkgrad/experiments/checkpoint/changes.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>

namespace chalkgrad {
namespace {

using nn::BlockOptions;
using nn::NormOptions;

double positive(const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number) || number <= 0)
        throw Error(fmt::format("'{}' is no finite positive number", text));
    return number;
}

void require(const std::string& value, const char* only) {
    if (value != only) throw Error(fmt::format("'{}' is not possible; use {}", value, only));
}

nn::GroupedAttentionOptions& grouped(BlockOptions& block) {
    if (block.latent.index() != 0)
        throw Error("this model's attention reads latent vectors, which have no such option");
    return block.attention;
}

/// What it does to the options of a block, and of each norm beside Q/K norm; either may be absent.
struct Change {
    std::string name;
    const char* values;
    void (*block)(BlockOptions&, const std::string&) = nullptr;
    void (*norm)(NormOptions&, const std::string&) = nullptr;
    bool in_blocks = true; ///< else the final norm's alone
};

const std::vector<Change> changes = {
    {"norm.eps", "X", nullptr, [](NormOptions& o, const std::string& v) { o.eps = positive(v); }},
    {"norm.gain", "none: every gain 1", nullptr,
        [](NormOptions& o, const std::string& v) {
            require(v, "none");
            o.gain = nn::NormGain::none;
        }},
    {"norm", "none: no norms in blocks",
        [](BlockOptions& o, const std::string& v) {
            require(v, "none");
            o.norm.kind = nn::NormKind::none;
        }},
    {"final_norm", "none", nullptr,
        [](NormOptions& o, const std::string& v) {
            require(v, "none");
            o.kind = nn::NormKind::none;
        },
        false},
    {"placement", "pre, post, peri, output_only, deepnorm or parallel; output norms that are new have gain 1",
        [](BlockOptions& o, const std::string& v) {
            o.placement = nn::placement_named(v);
            if (o.placement == nn::Placement::mhc)
                throw Error("a model with one residual stream has no mixing of several");
        }},
    {"ffn.activation", "identity, relu, silu, gelu, gelu_tanh or quick_gelu",
        [](BlockOptions& o, const std::string& v) {
            (o.experts ? o.experts->expert : o.ffn).activation = nn::activation_named(v);
        }},
    {"attention.softcap", "X or none",
        [](BlockOptions& o, const std::string& v) {
            grouped(o).softcap.reset();
            if (v != "none") o.attention.softcap = positive(v);
        }},
    {"attention.window", "tokens or none",
        [](BlockOptions& o, const std::string& v) {
            grouped(o).window.reset();
            if (v == "none") return;
            const double tokens = positive(v);
            if (tokens != std::floor(tokens) || tokens > 1e9)
                throw Error(fmt::format("'{}' is no number of tokens", v));
            o.attention.window = static_cast<std::size_t>(tokens);
        }},
    {"attention.qk_norm", "per_head (gain 1) or none",
        [](BlockOptions& o, const std::string& v) {
            grouped(o).qk_norm = {};
            if (v == "none") return;
            require(v, "per_head");
            o.attention.qk_norm = {.axis = nn::QkAxis::per_head, .norm = {.eps = o.norm.eps}};
        }},
    {"rope", "none", [](BlockOptions& o, const std::string& v) {
         require(v, "none");
         grouped(o).rope.reset();
     }}};

} // namespace

std::string changes_help() {
    std::string text;
    for (const Change& change : changes) text += fmt::format("  --set {}=…   {}\n", change.name, change.values);
    return text;
}

void set(nn::Checkpoint& model, const std::string& given) {
    const std::size_t equals = std::min(given.find('='), given.size());
    const Change& change = find_named(changes, given.substr(0, equals), "--set: there is no", "probe --help");
    if (equals + 1 >= given.size())
        throw Error(fmt::format("--set {}: give a value, {}=…; it takes {}", given, change.name, change.values));
    const std::string value = given.substr(equals + 1);
    try {
        for (nn::Block& block : model.blocks()) {
            BlockOptions options = block.options;
            if (change.block) change.block(options, value);
            if (change.norm && change.in_blocks) change.norm(options.norm, value);
            block = nn::rebuilt(block, options);
        }
        if (change.norm && model.final_norm()) {
            nn::Norm& final = model.final_norm();
            change.norm(final.options, value);
            if (final.options.gain == nn::NormGain::none) final.gamma = {};
            if (!final) final = {};
        }
    } catch (const Error& error) { throw Error(fmt::format("--set {}: {}", given, error.what())); }
}

void leave_out(const nn::Checkpoint& model, const std::string& branch) {
    const std::size_t dot = std::min(branch.find('.'), branch.size());
    const std::string part = branch.substr(0, dot), number = branch.substr(std::min(dot + 1, branch.size()));
    std::size_t layer = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), layer);
    if ((part != "attention" && part != "ffn") || error != std::errc() || end != number.data() + number.size() ||
        layer >= model.blocks().size())
        throw Error(fmt::format("--without '{}': there is no such branch; use attention.L or ffn.L, L from 0 to {}",
            branch, model.blocks().size() - 1));
    const nn::Visitor::Action clear = [&](const std::string& name, const nn::Parameter& parameter) {
        for (const char* const last : {"wo", "bo", "wo_up", "bo_up", "w_down", "b_down", "w2", "b2"})
            if (name.starts_with(part + ".") && parameter.name() == last)
                parameter.read_from([row = parameter.shape().size() / parameter.shape()[0]](std::size_t,
                                        std::size_t count, double* to) { std::fill_n(to, count * row, 0.0); });
    };
    model.blocks()[layer].visit(nn::Visitor(clear));
}

void round_weights(const nn::Checkpoint& model, const std::string& type) {
    const bool half_precision = type == "half";
    if (!half_precision && type != "bfloat16") throw Error(fmt::format("--round '{}': use bfloat16 or half", type));
    std::vector<const void*> done;
    for (const auto& [name, parameter] : nn::parameters_of(model.model)) {
        if (std::find(done.begin(), done.end(), parameter.id()) != done.end()) continue; // tied
        done.push_back(parameter.id());
        const nn::Parameter exact(parameter.name(), parameter.shape(), parameter.component(), parameter.init());
        exact.take(parameter);
        parameter.read_from([exact, half_precision](std::size_t first, std::size_t count, double* to) {
            const Array<double> rows = exact.rows(first, count);
            std::transform(rows.begin(), rows.end(), to, [&](double x) {
                return half_precision ? static_cast<double>(half(x)) : static_cast<double>(bfloat16(x));
            });
        });
    }
}

} // namespace chalkgrad
