// What the experiments on papers must give: reference values by name, and the judgement against them.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <chalkgrad/experiments/report/report.hpp>

namespace chalkgrad {

/// The reference values of references.json (NumPy and PyTorch in float64, same draws): by experiment, then by the name
/// that the number has in its report, "row: column".
const std::map<std::string, std::map<std::string, double>>& references();

/// The value for the report's experiment in that row and column. Throws Error where there is none.
double reference(const Report& report, std::string_view row, std::string_view column);

/// Reports values as the numbers "row: column", each judged against its reference unless the run draws from another
/// seed: judge(report, "pre, s = 1", tolerance, {{"RMS after block 0", rms[0]}, {"RMS after block 24", rms[24]}}).
void judge(Report& report, std::string_view row, Tolerance tolerance,
    std::initializer_list<std::pair<std::string_view, double>> columns);

} // namespace chalkgrad
