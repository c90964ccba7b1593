// `chalkgrad probe`: a checkpoint measured on a text, as trained or in changed blocks.
#include <chalkgrad/experiments/program/checkpoint_call.hpp>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/experiments/checkpoint/measure.hpp>
#include <chalkgrad/experiments/report/plot.hpp>
#include <chalkgrad/experiments/report/table.hpp>

namespace chalkgrad {
namespace {

struct ProbeOptions {
    Command c;
    Path folder = c.option(folder, "DIR", "DIR", "A checkpoint: config.json, model.safetensors", Given::always);
    Word text = c.option(text, "--text", "TEXT", "What the model reads, where it has tokens.json");
    Word ids = c.option(ids, "--ids", "N,N,...", "The same as ids, or FILE.npy");
    std::string dtype = c.option(dtype, "--dtype", "TYPE", "double, float, half or bfloat16", {}, {"double"});
    Words changes =
        c.option(changes, "--set", "NAME=VALUE", "Change every block, without training (below)", Given::one_by_one);
    Words without =
        c.option(without, "--without", "BRANCH", "Leave out attention.L or ffn.L, layers from 0", Given::one_by_one);
    Word round = c.option(round, "--round", "TYPE", "Round all weights to bfloat16 or half first");
    std::optional<std::size_t> block = c.option(
        block, "--jacobian", "L", "Singular values of block L's Jacobian, from 0, at the first tokens (at most 8)");
    std::optional<Path> logits = c.option(logits, "--logits", "FILE.npy", "Write all scores");
    std::optional<Path> out =
        c.option(out, "--out", "DIR", "Folder for CSV, JSON and figures; its other files are left alone");
    bool json = c.json(json);
};

/// null where there is none.
nlohmann::json or_null(const std::optional<double>& number) { return number ? json_number(*number) : nlohmann::json(); }
double or_nan(const std::optional<double>& number) { return number.value_or(std::nan("")); }

nlohmann::json layers_json(const Measures& m) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t l = 0; l < m.layers.size(); ++l) {
        const LayerMeasure& layer = m.layers[l];
        nlohmann::json attention = nlohmann::json::array();
        for (std::size_t h = 0; h < layer.heads.size(); ++h)
            attention.push_back({{"head", h}, {"entropy", json_number(layer.heads[h].entropy)},
                {"mass_on_first", or_null(layer.heads[h].mass_on_first)}});
        list.push_back(
            {{"index", l}, {"rms", json_number(layer.rms)}, {"largest_over_rms", json_number(layer.largest_over_rms)},
                {"channel_of_largest", layer.channel_of_largest}, {"gradient_norm", or_null(layer.gradient_norm)},
                {"logit_lens_loss", or_null(layer.logit_lens_loss)}, {"attention", attention}});
    }
    return list;
}

nlohmann::json json_of(
    const nn::Checkpoint& model, const ProbeOptions& options, const Measures& m, std::size_t tokens) {
    nlohmann::json json = {{"model_type", model.model.description.model_type}, {"parameters", model.parameters()},
        {"tokens", tokens}, {"dtype", options.dtype}, {"loss", or_null(m.loss)}, {"layers", layers_json(m)},
        {"gains", nlohmann::json::array()}, {"gradients", nlohmann::json::array()}};
    for (const Named& weight : m.weights) {
        json["gradients"].push_back({{"name", weight.name}, {"norm", or_null(weight.norm)}});
        if (weight.gain)
            json["gains"].push_back({{"name", weight.name}, {"mean", json_number(weight.mean)},
                {"min", json_number(weight.min)}, {"max", json_number(weight.max)}});
    }
    return json;
}

std::vector<Table> tables_of(const Measures& m) {
    Table layers{
        "layers", {"layer", "rms", "largest_over_rms", "channel_of_largest", "gradient_norm", "logit_lens_loss"}};
    Table attention{"attention", {"layer", "head", "entropy", "mass_on_first"}};
    Table gains{"gains", {"name", "mean", "min", "max"}}, gradients{"gradients", {"name", "norm"}};
    for (std::size_t l = 0; l < m.layers.size(); ++l) {
        const LayerMeasure& layer = m.layers[l];
        layers.rows.push_back({l, layer.rms, layer.largest_over_rms, layer.channel_of_largest,
            or_nan(layer.gradient_norm), or_nan(layer.logit_lens_loss)});
        for (std::size_t h = 0; h < layer.heads.size(); ++h)
            attention.rows.push_back({l, h, layer.heads[h].entropy, or_nan(layer.heads[h].mass_on_first)});
    }
    for (const Named& weight : m.weights) {
        gradients.rows.push_back({weight.name, or_nan(weight.norm)});
        if (weight.gain) gains.rows.push_back({weight.name, weight.mean, weight.min, weight.max});
    }
    return {layers, attention, gains, gradients};
}

void write_all(const Path& folder, const Measures& m, const nlohmann::json& json) {
    FileSet files;
    files.add(folder / "probe.json", json_text(json));
    for (const Table& table : tables_of(m)) files.add(folder / (table.name + ".csv"), to_csv(table));
    const auto plot = [&](const char* name, const char* title, const char* unit, bool log, const auto& value) {
        Plot made{name, title, {"layer"}, {unit, log}};
        Series& curve = made.at(name);
        for (std::size_t l = 0; l < m.layers.size(); ++l) curve.add(static_cast<double>(l), value(m.layers[l]));
        files.add(folder / (made.name + ".svg"), render(made, "svg"));
    };
    plot("stream", "The residual stream", "root mean square", true, [](const LayerMeasure& l) { return l.rms; });
    if (m.loss) {
        plot("gradient", "Its gradient", "Frobenius norm", true,
            [](const LayerMeasure& l) { return or_nan(l.gradient_norm); });
        plot("logit_lens", "The loss if final norm and head read the stream here", "nats a token", false,
            [](const LayerMeasure& l) { return or_nan(l.logit_lens_loss); });
    }
    files.publish();
}

void print(const Measures& m, const nlohmann::json& json) {
    fmt::print("{}: {} parameters, {} tokens, {}\n\n", json["model_type"].get<std::string>(),
        json["parameters"].get<std::size_t>(), json["tokens"].get<std::size_t>(),
        m.loss ? fmt::format("loss {:.6f} nats a token", *m.loss) : "no loss: one token");
    const auto number = [](const std::optional<double>& x) { return x ? fmt::format("{:.4g}", *x) : std::string("-"); };
    fmt::print("{:>5} {:>10} {:>12} {:>8} {:>10} {:>10} {:>16} {:>14}\n", "layer", "rms", "largest/rms", "channel",
        "gradient", "lens loss", "entropy by head", "mass on first");
    for (std::size_t l = 0; l < m.layers.size(); ++l) {
        const LayerMeasure& layer = m.layers[l];
        const auto range = [&](const auto& value) {
            if (layer.heads.empty()) return std::string("-");
            double low = HUGE_VAL, high = -HUGE_VAL;
            for (const HeadMeasure& head : layer.heads) {
                low = std::min(low, value(head));
                high = std::max(high, value(head));
            }
            return fmt::format("{:.3f} to {:.3f}", low, high);
        };
        fmt::print("{:>5} {:>10.4g} {:>12.4g} {:>8} {:>10} {:>10} {:>16} {:>14}\n", l, layer.rms,
            layer.largest_over_rms, layer.channel_of_largest, number(layer.gradient_norm),
            number(layer.logit_lens_loss), range([](const HeadMeasure& h) { return h.entropy; }),
            range([](const HeadMeasure& h) { return or_nan(h.mass_on_first); }));
    }
    fmt::print("\n{:52} {:>8} {:>8} {:>8}\n", "gain", "mean", "min", "max");
    for (const Named& weight : m.weights)
        if (weight.gain)
            fmt::print("{:52} {:8.4f} {:8.4f} {:8.4f}\n", weight.name, weight.mean, weight.min, weight.max);
    if (json.contains("jacobian")) {
        const auto& values = json["jacobian"]["singular_values"];
        fmt::print(
            "\nJacobian of block {}, {} tokens: singular values {:.4g} (largest), {:.4g} (middle), {:.4g} (smallest)\n",
            json["jacobian"]["block"].get<std::size_t>(), json["jacobian"]["tokens"].get<std::size_t>(),
            number_of(values.front()), number_of(values[values.size() / 2]), number_of(values.back()));
    }
}

int run_probe(const ProbeOptions& options) {
    if (options.out) check_output_folder("probe", *options.out);
    with_dtype("probe", options.dtype, [](auto) { return 0; }); // before anything is read
    nn::Checkpoint model = nn::load_checkpoint(options.folder);
    const auto ids = given_ids(
        "probe", model, read_tokens(model.folder, model.model.description.vocabulary), options.ids, options.text);
    if (!ids) throw Error("probe: nothing to read; give --text, or --ids N,N,… or FILE.npy");
    if (options.block && *options.block >= model.blocks().size())
        throw Error(
            fmt::format("probe: --jacobian {}: there are blocks 0 to {}", *options.block, model.blocks().size() - 1));
    if (options.round) round_weights(model, *options.round);
    for (const std::string& change : options.changes) set(model, change);
    for (const std::string& branch : options.without) leave_out(model, branch);

    Progress progress;
    progress.say(fmt::format("measuring {} tokens", ids->size()));
    const Measures m =
        with_dtype("probe", options.dtype, [&](auto zero) { return measure<decltype(zero)>(model, *ids); });
    nlohmann::json json = json_of(model, options, m, ids->size());
    if (options.block) {
        const std::size_t first = std::min<std::size_t>(ids->size(), 8);
        progress.say(fmt::format("the Jacobian of block {}", *options.block));
        Array<std::int64_t> some(std::vector<std::size_t>{first});
        std::copy_n(ids->begin(), first, some.begin());
        json["jacobian"] = {{"block", *options.block}, {"tokens", first},
            {"singular_values", mapped(block_singular_values(model, some, *options.block), json_number)}};
    }
    if (options.logits) save_npy(*options.logits, m.logits);
    if (options.out) write_all(*options.out, m, json);
    if (options.json) fmt::print("{}", json_text(json));
    else print(m, json);
    return 0;
}

} // namespace

void add_probe(Commands& commands) {
    commands.add("probe", "Measure a checkpoint on a text: stream, loss, gradients, attention; also in changed blocks",
        run_probe,
        "  chalkgrad probe stories260K --text \"Tom and Mia had a small boat.\"\n"
        "  chalkgrad probe stories260K --ids story.npy --set ffn.activation=relu --without attention.3 --json\n"
        "  chalkgrad probe SmolLM2-135M --ids 504,2123,253 --dtype bfloat16 --logits scores.npy --out probe\n"
        "Changes without training, one after the other:\n" +
            changes_help() +
            "  --without attention.L, --without ffn.L   a branch left out\n"
            "  --round bfloat16, --round half           every weight, to the nearest");
}

} // namespace chalkgrad
