// JSON as other programs may rely on it.
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/plot.hpp>

#include <cmath>

#include <nlohmann/json.hpp>

namespace chalkgrad {

using nlohmann::json;

json json_number(double number) {
    if (std::isfinite(number)) return number;
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

double number_of(const json& value) {
    if (value.is_number()) return value.get<double>();
    const double inf = std::numeric_limits<double>::infinity();
    return value == "inf" ? inf : value == "-inf" ? -inf : std::numeric_limits<double>::quiet_NaN();
}

std::optional<Attribute> to_attribute(const json& value) {
    if (value.is_null()) return Attribute();
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number()) return value.get<double>();
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array()) return {};
    std::vector<double> list;
    for (const json& item : value) {
        if (!item.is_number()) return {};
        list.push_back(item.get<double>());
    }
    return list;
}

json to_json(const Attributes& attributes) {
    json object = json::object();
    for (const auto& [key, value] : attributes) object[key] = to_string(value);
    return object;
}

json to_json(const Table& table) {
    json rows = json::array();
    for (const std::vector<Cell>& cells : table.rows) {
        json row = json::array();
        for (const Cell& cell : cells) {
            const auto& value = cell.value();
            if (const double* const number = std::get_if<double>(&value)) row.push_back(json_number(*number));
            else if (const std::int64_t* const whole = std::get_if<std::int64_t>(&value)) row.push_back(*whole);
            else row.push_back(std::get<std::string>(value));
        }
        rows.push_back(std::move(row));
    }
    return {{"name", table.name}, {"columns", table.columns}, {"rows", std::move(rows)}};
}

namespace {

json json_numbers(const double* numbers, std::size_t n) {
    json list = json::array();
    for (std::size_t i = 0; i < n; ++i) list.push_back(json_number(numbers[i]));
    return list;
}

} // namespace

json to_json(const Plot& plot) {
    json series = json::array();
    for (const Series& each : plot.series)
        series.push_back({{"name", each.name}, {"x", json_numbers(each.x.data(), each.x.size())},
            {"y", json_numbers(each.y.data(), each.y.size())}});
    const auto axis = [](const Axis& of) { return json{{"label", of.label}, {"log", of.log}}; };
    return {{"name", plot.name}, {"title", plot.title}, {"x", axis(plot.x)}, {"y", axis(plot.y)},
        {"series", std::move(series)}};
}

json to_json(const HeatMap& map) {
    json rows = json::array();
    for (std::size_t i = 0; i + map.columns <= map.values.size() && map.columns > 0; i += map.columns)
        rows.push_back(json_numbers(map.values.data() + i, map.columns));
    return {{"name", map.name}, {"title", map.title}, {"x", map.x_label}, {"y", map.y_label},
        {"value", map.value_label}, {"rows", std::move(rows)}};
}

std::string json_text(const json& document) {
    return document.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

} // namespace chalkgrad
