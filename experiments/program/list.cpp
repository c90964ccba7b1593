// `chalkgrad list`: the catalogues as text or JSON.
#include <chalkgrad/experiments/program/commands.hpp>

#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/experiments/exercises/exercises.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/experiments/report/json.hpp>
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
        const std::vector<std::string> known = {"ops", "experiments", "blocks", "models", "exercises"};
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
        nlohmann::json document = nlohmann::json::array();
        for (const Item& item : list)
            document.push_back({{"name", item.name}, {"purpose", item.purpose}, {"section", item.section}});
        fmt::print("{}", json_text(document));
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
        std::string what;
        bool json = false;
    };
    const auto o = std::make_shared<Options>();
    Command c = commands.add(
        "list", "What there is: ops, experiments, blocks, models, exercises",
        [o] { return run_list(o->what, o->json); },
        "  chalkgrad list ops\n"
        "  chalkgrad list experiments --json");
    c.option("WHAT", o->what, "TEXT", "ops, experiments, blocks, models or exercises", Given::always);
    c.json(o->json);
}

} // namespace chalkgrad
