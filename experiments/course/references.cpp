// The reference values of the experiments on papers, read from references.json.
#include <chalkgrad/experiments/course/references.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/json.hpp>

namespace chalkgrad {

const std::vector<ReferenceTable>& reference_tables() {
    static const std::vector<ReferenceTable> tables = [] {
        std::vector<ReferenceTable> all;
        for (const nlohmann::json& table : nlohmann::json::parse(embedded("experiments/course/references.json"))) {
            auto& rows = all.emplace_back(ReferenceTable{table["experiment"], table["columns"], {}}).rows;
            for (const auto& [name, values] : table["rows"].items())
                for (const nlohmann::json& value : values) rows[name].push_back(number_of(value));
        }
        return all;
    }();
    return tables;
}

double reference(const Report& report, std::string_view row, std::string_view column) {
    for (const ReferenceTable& table : reference_tables()) {
        const auto at = std::find(table.columns.begin(), table.columns.end(), column);
        const auto own = table.rows.find(row);
        if (table.experiment == report.experiment() && at != table.columns.end() && own != table.rows.end())
            return own->second.at(at - table.columns.begin());
    }
    throw Error(fmt::format(
        "{}: there is no reference value '{}: {}'; add it to references.json", report.experiment(), row, column));
}

void judge(Report& report, std::string_view row, Tolerance tolerance,
    std::initializer_list<std::pair<std::string_view, double>> columns) {
    for (const auto& [column, value] : columns)
        report.seeded_number(
            fmt::format("{}: {}", row, column), value, reference(report, row, column), tolerance, reference_source);
}

} // namespace chalkgrad
