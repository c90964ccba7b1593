// The reference values of the experiments on papers, read from references.json.
#include <chalkgrad/experiments/course/course.hpp>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/json.hpp>

namespace chalkgrad {

const std::map<std::string, std::map<std::string, double>>& references() {
    static const auto all = [] {
        std::map<std::string, std::map<std::string, double>> all;
        for (const auto& table : nlohmann::json::parse(embedded("experiments/course/references.json")))
            for (const auto& [row, values] : table["rows"].items())
                for (std::size_t i = 0; i < std::max(values.size(), table["columns"].size()); ++i)
                    all[table["experiment"]][fmt::format("{}: {}", row, table["columns"].at(i).get<std::string>())] =
                        number_of(values.at(i));
        return all;
    }();
    return all;
}

double reference(const Report& report, std::string_view row, std::string_view column) {
    const std::string name = fmt::format("{}: {}", row, column);
    const auto experiment = references().find(report.experiment());
    if (experiment != references().end())
        if (const auto value = experiment->second.find(name); value != experiment->second.end()) return value->second;
    throw Error(
        fmt::format("{}: there is no reference value '{}'; add it to references.json", report.experiment(), name));
}

void judge(Report& report, std::string_view row, Tolerance tolerance,
    std::initializer_list<std::pair<std::string_view, double>> columns) {
    for (const auto& [column, value] : columns)
        report.seeded_number(fmt::format("{}: {}", row, column), value, reference(report, row, column), tolerance,
            "NumPy and PyTorch in float64, same draws");
}

} // namespace chalkgrad
