// The exercises by name, read from exercises.json: along the course and from easy to hard.
#include <chalkgrad/experiments/exercises/exercises.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/experiments/report/derivation.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/html.hpp>
#include <chalkgrad/experiments/report/json.hpp>

namespace chalkgrad {
namespace {

using Json = nlohmann::ordered_json; // arrays are drawn in the order of the file
using Words = std::vector<std::string>;

/// A number, rows of numbers, or a draw: {"normal": shape} or {"uniform": shape}, the latter from −4 to 4, with one row
/// times a factor where "row" and "times" stand.
Array<double> array_of(const Json& spec, Generator& rng) {
    if (spec.is_number()) return Array<double>(std::vector<std::size_t>{}, spec.get<double>());
    if (spec.is_array()) {
        Array<double> x = Array<double>::from_shape({spec.size(), spec[0].size()});
        for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = spec[i / spec[0].size()][i % spec[0].size()];
        return x;
    }
    const bool is_normal = spec.contains("normal");
    const auto extents = spec[is_normal ? "normal" : "uniform"].get<std::vector<std::size_t>>();
    const Shape shape(extents.begin(), extents.end());
    Array<double> x = is_normal ? rng.standard_normal(shape) : rng.uniform(-4, 4, shape);
    if (spec.contains("row"))
        for (std::size_t j = 0; j < x.shape(1); ++j)
            x(spec["row"].get<std::size_t>(), j) *= spec["times"].get<double>();
    return x;
}

/// A hint with every {op.input} replaced by what the op's derivation page states for that input.
std::string with_gradients(std::string_view hint) {
    return filled(hint, "{", "}", [](std::string_view name) {
        const std::size_t dot = name.find('.');
        return gradient_in_words(name.substr(0, dot), name.substr(dot + 1));
    });
}

Exercise exercise_of(const Json& json) {
    Exercise e{json["name"], json["purpose"], json["section"], json["task"], json["inputs"], json["op"]};
    e.hints = mapped(json["hints"].get<Words>(), with_gradients);
    e.faults = mapped(json["faults"], [](const Json& fault) {
        return TypicalFault{fault["input"], mapped(fault["causes"].get<Words>(), cause_named), fault["says"]};
    });
    Attributes attributes;
    const Json given = json.value("attributes", Json::object());
    for (const auto& [key, value] : given.items()) attributes.set(key, *to_attribute(nlohmann::json(value)));
    e.points = [points = json["points"], attributes](Generator& rng) {
        return mapped(points, [&](const Json& point) {
            Sample sample{point["name"], {}, {}, attributes};
            for (const auto& [name, spec] : point["inputs"].items())
                sample.inputs.push_back({name, array_of(spec, rng)});
            return sample;
        });
    };
    return e;
}

} // namespace

std::string_view Exercise::starter() const { return embedded("experiments/exercises/starters/" + name + ".cpp"); }

const std::vector<Exercise>& exercises() {
    static const auto all = mapped(Json::parse(embedded("experiments/exercises/exercises.json")), exercise_of);
    return all;
}

const Exercise& find_exercise(std::string_view name) {
    return find_named(exercises(), name, "exercise: there is no exercise", "chalkgrad exercise list");
}

} // namespace chalkgrad
