// JSON as other programs may rely on it: non-finite numbers are words, and text is always valid UTF-8.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/autograd/base/attributes.hpp>

namespace chalkgrad {

struct Graph;
struct HeatMap;
struct Plot;
struct Table;
struct Topology;
class Tape;

/// What f makes of each item, in their order: of JSON values, an array.
template <class Items, class F> auto mapped(const Items& items, F&& f) {
    std::vector<std::decay_t<decltype(f(*items.begin()))>> list;
    for (const auto& item : items) list.push_back(f(item));
    return list;
}

/// The number, or "nan", "inf", "-inf": JSON has no such numbers, and null would hide which it was.
nlohmann::json json_number(double number);
/// The number that json_number wrote so; NaN for everything else.
double number_of(const nlohmann::json& value);

/// An op's attribute: null, a flag, a number, a word or a list of numbers; nothing for other JSON.
std::optional<Attribute> to_attribute(const nlohmann::json& value);

/// {"eps": "1e-06", ..}: as text, as tables show them
nlohmann::json to_json(const Attributes& attributes);

/// {"name", "columns": [..], "rows": [[..]]}
nlohmann::json to_json(const Table& table);

/// {"name", "title", "x": {"label", "log"}, "y": .., "series": [{"name", "x": [..], "y": [..]}]}
nlohmann::json to_json(const Plot& plot);

/// {"name", "title", "x", "y", "value", "rows": [[..]]}: the labels, then the matrix
nlohmann::json to_json(const HeatMap& map);

/// {"nodes": [{"id", "op", "label", "scope", "shape", "dtype", "attrs", "kind", "role"}], "edges": [{"from", "to", "input",
/// "kind"}], "topology": {"placement", "evidence", "contradictions", "norms", "residual_adds"}}: every line, as recorded.
nlohmann::json to_json(const Graph& graph, const Topology& topology);

/// [{"line", "kind": "constant|variable|op", "op", "name", "inputs": [..], "input_names", "shape", "dtype",
/// "attributes", "scope", "value": NUMBERS or null on a shape-only tape, "adjoint": NUMBERS or null where none was
/// computed}]; an optional input that was not given is −1.
nlohmann::json to_json(const Tape& tape);

/// NUMBERS: {"size", "min", "max", "rms", "not_finite", "numbers": [..]}; numbers in row-major order, left out above
/// 4096 of them.
nlohmann::json numbers_json(const std::vector<double>& numbers);

/// Indented text that ends with a line feed; bytes that are no UTF-8 become U+FFFD. Keys keep alphabetic order.
std::string json_text(const nlohmann::json& json);

} // namespace chalkgrad
