// `chalkgrad list`: the catalogues as text or JSON.
#include <chalkgrad/experiments/program/commands.hpp>

#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/exercises/exercises.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/nn/models/types.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {
namespace {

struct Item {
    std::string name, purpose, section;
};

std::vector<Item> items(const std::string& what) {
    std::vector<Item> list;
    if (what == "ops") {
        for (const CatalogEntry& op : catalog()) list.push_back({op.name, op.formula, op.section});
    } else if (what == "experiments") {
        for (const Experiment& e : experiments()) list.push_back({e.name, e.question, "§" + e.section});
    } else if (what == "blocks") {
        for (const nn::BlockEntry& block : nn::blocks()) list.push_back({block.name, block.formula, block.section});
    } else if (what == "models") {
        for (const nn::ModelType& type : nn::model_types())
            list.push_back({std::string(type.name), nn::facts_line(type), "§16"});
    } else if (what == "exercises") {
        for (const Exercise& e : exercises()) list.push_back({e.name, e.purpose, e.section});
    } else {
        const Words known = {"ops", "experiments", "blocks", "models", "exercises"};
        throw Error(
            fmt::format("list: there is no list of '{}'{}; choose ops, experiments, blocks, models or exercises", what,
                did_you_mean(what, known)));
    }
    return list;
}

} // namespace

int run_list(const std::string& what, bool json) {
    const std::vector<Item> list = items(what);
    if (json) {
        const auto object = [](const Item& item) {
            return nlohmann::json{{"name", item.name}, {"purpose", item.purpose}, {"section", item.section}};
        };
        fmt::print("{}", json_text(mapped(list, object)));
        return 0;
    }
    std::size_t name = 0, section = 0;
    for (const Item& item : list) {
        name = std::max(name, item.name.size());
        section = std::max(section, item.section.size());
    }
    for (const Item& item : list)
        fmt::print("{:{}}  {:{}}  {}\n", item.name, name, item.section, section, item.purpose);
    return 0;
}

void add_list(Commands& commands) {
    struct Options {
        Command c;
        std::string what =
            c.option(what, "WHAT", "TEXT", "ops, experiments, blocks, models or exercises", Given::always);
        bool json = c.json(json);
    };
    commands.add(
        "list", "What there is: ops, experiments, blocks, models, exercises",
        +[](const Options& options) { return run_list(options.what, options.json); },
        "  chalkgrad list ops\n"
        "  chalkgrad list experiments --json");
}

} // namespace chalkgrad
