// `chalkgrad inspect`: reads the file, and writes what was found as JSON or for people.
#include <chalkgrad/experiments/program/commands.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/inspect/inspection.hpp>
#include <chalkgrad/experiments/report/json.hpp>

namespace chalkgrad {

void add_inspect(Commands& commands) {
    struct Options {
        std::filesystem::path config;
        bool json = false, explain = false;
    };
    const auto o = std::make_shared<Options>();
    const auto run = [o] {
        const Inspection inspection = inspect_config("inspect", o->config);
        if (o->json) fmt::print("{}", json_text(to_json(inspection)));
        else fmt::print("{}", o->explain ? explain(inspection) : to_text(inspection));
        return 0;
    };
    Command c = commands.add("inspect", "Read a model's config.json: its block, and every parameter counted", run,
        "  chalkgrad inspect config.json                a table, with the formulas\n"
        "  chalkgrad inspect config.json --explain      the four steps of reading a block, in words\n"
        "  chalkgrad inspect config.json --json\n"
        "No weight is allocated. 'chalkgrad list models' shows the model types.");
    c.option("CONFIG", o->config, "CONFIG.json", "A model's config.json", Given::always);
    c.json(o->json);
    c.flag("--explain", o->explain, "Walk through the block in words");
    c.excludes("--explain", "--json");
}

} // namespace chalkgrad
