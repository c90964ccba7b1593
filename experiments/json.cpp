// JSON as other programs may rely on it.
#include <chalkgrad/experiments/json.hpp>
#include <chalkgrad/experiments/table.hpp>

#include <cmath>

#include <nlohmann/json.hpp>

namespace chalkgrad {

using nlohmann::json;

json json_number(double number) {
    if (std::isfinite(number)) return number;
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

json to_json(const Table& table) {
    json rows = json::array();
    for (const std::vector<Cell>& cells : table.rows) {
        json row = json::array();
        for (const Cell& cell : cells) {
            const auto& value = cell.value();
            if (const double* const number = std::get_if<double>(&value))
                row.push_back(json_number(*number));
            else if (const std::int64_t* const whole = std::get_if<std::int64_t>(&value))
                row.push_back(*whole);
            else
                row.push_back(std::get<std::string>(value));
        }
        rows.push_back(std::move(row));
    }
    return {{"name", table.name}, {"columns", table.columns}, {"rows", std::move(rows)}};
}

std::string json_text(const json& document) {
    return document.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

} // namespace chalkgrad
