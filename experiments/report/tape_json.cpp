// A tape as JSON.
#include <chalkgrad/experiments/report/tape_json.hpp>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/experiments/report/json.hpp>

namespace chalkgrad {

using nlohmann::json;

namespace {

constexpr std::size_t most_numbers = 4096;

} // namespace

json numbers_json(const std::vector<double>& numbers) {
    const Summary summary = summarize(numbers);
    json object = {{"size", summary.size}, {"min", json_number(summary.least)}, {"max", json_number(summary.most)},
        {"rms", json_number(summary.rms)}, {"not_finite", summary.not_finite}};
    if (numbers.size() > most_numbers) return object;
    object["numbers"] = json::array();
    for (const double x : numbers) object["numbers"].push_back(json_number(x));
    return object;
}

json to_json(const Tape& tape) {
    json lines = json::array();
    for (std::size_t i = 0; i < tape.size(); ++i) {
        const Line line = tape.line(i);
        const auto gradient = gradient_of(tape, i);
        lines.push_back({{"line", i}, {"kind", name(line.kind)}, {"op", line.op}, {"name", line.name},
            {"inputs", line.inputs}, {"input_names", line.input_names},
            {"shape", std::vector<std::size_t>(line.shape.begin(), line.shape.end())},
            {"dtype", chalkgrad::name(line.dtype)}, {"attributes", to_json(line.attributes)},
            {"scope", tape.state()->scope_path(static_cast<detail::Index>(line.scope))},
            {"value", tape.shapes_only() ? json() : numbers_json(values_of(tape, i))},
            {"adjoint", gradient ? numbers_json(*gradient) : json()}});
    }
    return lines;
}

} // namespace chalkgrad
