// Tables as CSV.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/table.hpp>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

std::string field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    return '"' + replaced(text, "\"", "\"\"") + '"';
}

std::string field(double number) { return fmt::format("{:.17g}", number); }
std::string field(std::int64_t number) { return fmt::format("{}", number); }

} // namespace

std::string to_csv(const Table& table) {
    std::string csv;
    for (std::size_t i = 0; i < table.columns.size(); ++i) csv += (i == 0 ? "" : ",") + field(table.columns[i]);
    csv += '\n';
    for (const std::vector<Cell>& row : table.rows) {
        if (row.size() != table.columns.size())
            throw Error(
                fmt::format("to_csv: table '{}' has a row of {} cells under {} columns; give each row one cell a "
                            "column",
                    table.name, row.size(), table.columns.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            csv += (i == 0 ? "" : ",") + std::visit([](const auto& value) { return field(value); }, row[i].value());
        csv += '\n';
    }
    return csv;
}

} // namespace chalkgrad
