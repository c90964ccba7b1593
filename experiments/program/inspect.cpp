// `chalkgrad inspect`: reads the file, and writes what was found as JSON or for people.
#include <chalkgrad/experiments/program/commands.hpp>

#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/inspect/inspection.hpp>

namespace chalkgrad {

void add_inspect(Commands& commands) {
    struct Options {
        Command c;
        Path config = c.option(config, "CONFIG", "CONFIG.json", "A model's config.json", Given::always);
        bool json = c.json(json);
        bool explain = c.flag(explain, "--explain", "Walk through the block in words");
    };
    const auto run = +[](const Options& options) {
        const Inspection inspection = inspect_config("inspect", options.config);
        if (options.json) fmt::print("{}", json_text(to_json(inspection)));
        else fmt::print("{}", options.explain ? explain(inspection) : to_text(inspection));
        return 0;
    };
    commands
        .add("inspect", "Read a model's config.json: its block, and every parameter counted", run,
            "  chalkgrad inspect config.json                a table, with the formulas\n"
            "  chalkgrad inspect config.json --explain      the four steps of reading a block, in words\n"
            "  chalkgrad inspect config.json --json\n"
            "No weight is allocated. 'chalkgrad list models' shows the model types.")
        .exclude("--explain", "--json");
}

} // namespace chalkgrad
