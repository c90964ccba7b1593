// The exercises by name, read from exercises.json: along the course and from easy to hard.
#include <chalkgrad/experiments/exercises/exercises.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/experiments/report/derivation.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/json.hpp>

namespace chalkgrad {
namespace {

using Json = nlohmann::ordered_json; // arrays are drawn in the order of the file

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
    std::string out;
    for (;;) {
        const std::size_t begin = hint.find('{'), dot = hint.find('.', begin), end = hint.find('}', begin);
        if (end == hint.npos || dot > end) return out.append(hint);
        out.append(hint.substr(0, begin));
        out += gradient_in_words(hint.substr(begin + 1, dot - begin - 1), hint.substr(dot + 1, end - dot - 1));
        hint.remove_prefix(end + 1);
    }
}

Exercise exercise_of(const Json& json) {
    Exercise e{json["name"], json["purpose"], json["section"], json["task"], json["inputs"], json["op"]};
    for (const std::string hint : json["hints"]) e.hints.push_back(with_gradients(hint));
    for (const Json& fault : json["faults"]) {
        std::vector<Cause> causes;
        for (const std::string word : fault["causes"]) causes.push_back(cause_named(word));
        e.faults.push_back({fault["input"], causes, fault["says"]});
    }
    Attributes attributes;
    const Json given = json.value("attributes", Json::object());
    for (const auto& [key, value] : given.items()) attributes.set(key, *to_attribute(nlohmann::json(value)));
    e.points = [points = json["points"], attributes](Generator& rng) {
        std::vector<Sample> samples;
        for (const Json& point : points) {
            Sample& sample = samples.emplace_back(Sample{point["name"], {}, {}, attributes});
            for (const auto& [name, spec] : point["inputs"].items())
                sample.inputs.push_back({name, array_of(spec, rng)});
        }
        return samples;
    };
    return e;
}

} // namespace

std::string_view Exercise::starter() const { return embedded("experiments/exercises/starters/" + name + ".cpp"); }

const std::vector<Exercise>& exercises() {
    static const std::vector<Exercise> all = [] {
        std::vector<Exercise> list;
        for (const Json& each : Json::parse(embedded("experiments/exercises/exercises.json")))
            list.push_back(exercise_of(each));
        return list;
    }();
    return all;
}

const Exercise& find_exercise(std::string_view name) {
    return find_named(exercises(), name, "exercise: there is no exercise", "chalkgrad exercise list");
}

} // namespace chalkgrad
