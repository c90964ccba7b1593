// What a plot is made of: series, their x, and the numbers as a table.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/plot.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace chalkgrad {

Series& Plot::at(std::string_view name, Mark mark) {
    for (Series& each : series)
        if (each.name == name) return each;
    return series.emplace_back(Series{std::string(name), {}, {}, mark});
}

Array<double> linspace(double from, double to, std::size_t n) {
    if (n < 2) throw Error(fmt::format("linspace: {} points have no two ends; give at least 2", n));
    Array<double> x = Array<double>::from_shape({n});
    const double step = (to - from) / static_cast<double>(n - 1);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i) * step + from;
    x[n - 1] = to;
    return x;
}

Array<double> geomspace(double from, double to, std::size_t n) {
    if (!(from > 0 && to > 0)) throw Error(fmt::format("geomspace: {} and {} must be positive", from, to));
    Array<double> x = linspace(std::log(from), std::log(to), n);
    for (double& each : x) each = std::exp(each);
    x[0] = from;
    x[n - 1] = to;
    return x;
}

Series series(std::string name, const Array<double>& x, const Array<double>& y, Mark mark) {
    return {std::move(name), {x.begin(), x.end()}, {y.begin(), y.end()}, mark};
}

Table to_table(const Plot& plot) {
    Table table{plot.name, {"series", plot.x.label, plot.y.label}, {}};
    const bool bounds = std::ranges::any_of(plot.series, [](const Series& series) { return !series.low.empty(); });
    if (bounds) table.columns.insert(table.columns.end(), {"low", "high"});
    for (const Series& series : plot.series)
        for (std::size_t k = 0; k < std::min(series.x.size(), series.y.size()); ++k) {
            std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{series.name, series.x[k], series.y[k]});
            if (series.low.empty()) row.resize(table.columns.size(), "");
            else row.insert(row.end(), {series.low.at(k), series.high.at(k)});
        }
    return table;
}

Table to_table(const HeatMap& map) {
    Table table{map.name, {"row", "column", map.value_label}, {}};
    for (std::size_t i = 0; i < map.values.size() && map.columns > 0; ++i)
        table.rows.push_back({i / map.columns, i % map.columns, map.values[i]});
    return table;
}

} // namespace chalkgrad
