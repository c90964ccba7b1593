// `chalkgrad inspect`: reads the file, and writes what was found as JSON or for people.
#include <chalkgrad/experiments/program/commands.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/inspect/inspection.hpp>
#include <chalkgrad/experiments/report/json.hpp>

namespace chalkgrad {

int run_inspect(const InspectCommand& command) {
    const Inspection inspection = inspect_config("inspect", command.config);
    if (command.json) fmt::print("{}", json_text(to_json(inspection)));
    else fmt::print("{}", command.explain ? explain(inspection) : to_text(inspection));
    return 0;
}

} // namespace chalkgrad
