// JSON as other programs may rely on it: non-finite numbers are words, and text is always valid UTF-8.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/autograd/base/attributes.hpp>

namespace chalkgrad {

struct HeatMap;
struct Plot;
struct Table;

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

/// Indented text that ends with a line feed; bytes that are no UTF-8 become U+FFFD. Keys keep alphabetic order.
std::string json_text(const nlohmann::json& json);

} // namespace chalkgrad
