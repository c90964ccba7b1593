// What an experiment found, as JSON and as files; tables as CSV.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/numpy/npy.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/parallel.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/render.hpp>
#include <chalkgrad/experiments/report/report.hpp>
#include <chalkgrad/experiments/report/seeds.hpp>
#include <chalkgrad/version.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace chalkgrad {
namespace {

using nlohmann::json;

bool within(double value, double expected, Tolerance tolerance) {
    if (value == expected || (std::isnan(value) && std::isnan(expected))) return true;
    if (!std::isfinite(value) || !std::isfinite(expected)) return false;
    return std::abs(value - expected) <= tolerance.bound * (tolerance.is_relative ? std::abs(expected) : 1);
}

bool is_file_name(std::string_view name) {
    constexpr std::string_view fitting = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return !name.empty() && name.size() <= 100 && name[0] != '.' && name[0] != '-' &&
           name.find_first_not_of(fitting) == name.npos;
}

std::string field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    return '"' + replaced(text, "\"", "\"\"") + '"';
}

std::string field(double number) { return fmt::format("{:.17g}", number); }
std::string field(std::int64_t number) { return fmt::format("{}", number); }

} // namespace

std::string to_csv(const Table& table) {
    const auto word = [](const std::string& column) { return field(column); };
    const auto value = [](const Cell& cell) {
        return std::visit([](const auto& value) { return field(value); }, cell.value());
    };
    std::string csv = fmt::format("{}\n", fmt::join(mapped(table.columns, word), ","));
    for (const std::vector<Cell>& row : table.rows) {
        if (row.size() != table.columns.size())
            throw Error(
                fmt::format("to_csv: table '{}' has a row of {} cells under {} columns; give each row one cell a "
                            "column",
                    table.name, row.size(), table.columns.size()));
        csv += fmt::format("{}\n", fmt::join(mapped(row, value), ","));
    }
    return csv;
}

Report::Report(std::string experiment, bool own_seed) : experiment_(std::move(experiment)), own_seed_(own_seed) {
    if (!is_file_name(experiment_))
        throw Error(fmt::format("Report: '{}' cannot name files; use letters, digits, '_', '-' and '.'", experiment_));
}

template <class Items, class Item> Item& Report::keep(Items& items, Item item) {
    const std::string& name = item.name;
    if (!is_file_name(name))
        throw Error(
            fmt::format("{}: '{}' cannot name a file; use letters, digits, '_', '-' and '.'", experiment_, name));
    if (std::find(names_.begin(), names_.end(), name) != names_.end())
        throw Error(
            fmt::format("{}: two findings are named '{}'; their files need different names", experiment_, name));
    names_.push_back(name);
    return items.emplace_back(std::move(item));
}

void Report::number(std::string name, double value, double expected, Tolerance tolerance, std::string source) {
    const bool holds = within(value, expected, tolerance);
    numbers_.push_back({std::move(name), value, expected, tolerance, std::move(source), holds});
}

void Report::seeded_number(std::string name, double value, double expected, Tolerance tolerance, std::string source) {
    if (!own_seed_) return number(std::move(name), value, expected, tolerance, std::move(source));
    measured(std::move(name), value, fmt::format("{:.7g} under the reference seed ({})", expected, source));
}

void Report::measured(std::string name, double value, std::string claim) {
    measured_.push_back({std::move(name), value, std::move(claim)});
}

void Report::not_reproduced(std::string name, std::string why) {
    not_reproduced_.push_back({std::move(name), std::move(why)});
}

namespace {
struct TapeShown {}; ///< thrown out of a run of which only the tape is wanted
} // namespace

void Report::tape(Var<double> y) {
    tape_ = std::move(y);
    if (ends_at_tape_) throw TapeShown();
}

Var<double> Report::tape_of(const std::string& experiment, const std::function<void(Report&)>& run) {
    Report report(experiment);
    report.ends_at_tape_ = true;
    try {
        run(report);
    } catch (const TapeShown&) {}
    return report.tape_;
}

Table& Report::table(Table table) { return keep(tables_, std::move(table)); }
Plot& Report::plot(Plot plot) { return keep(plots_, std::move(plot)); }
void Report::heat_map(HeatMap map) { keep(maps_, std::move(map)); }
void Report::array(std::string name, Array<double> values) {
    keep(arrays_, NamedArray{std::move(name), std::move(values)});
}
void Report::graph(std::string name, std::string dot) { keep(graphs_, Graph{std::move(name), std::move(dot)}); }

void Report::made_with(std::optional<uint128> seed, std::string command) {
    seed_ = seed;
    command_ = std::move(command);
}

Report Report::over(std::vector<Report> runs) {
    Report all = std::move(runs.at(0));
    const auto same = [&](auto Report::*items, const Report& run) {
        return std::ranges::equal(
            all.*items, run.*items, {}, [](const auto& a) { return a.name; }, [](const auto& a) { return a.name; });
    };
    for (std::size_t r = 1; r < runs.size(); ++r) {
        bool alike =
            same(&Report::numbers_, runs[r]) && same(&Report::measured_, runs[r]) && same(&Report::plots_, runs[r]);
        for (std::size_t p = 0; alike && p < all.plots_.size(); ++p)
            alike =
                std::ranges::equal(all.plots_[p].series, runs[r].plots_[p].series, {}, &Series::name, &Series::name);
        if (!alike)
            throw Error(
                fmt::format("{}: runs with different seeds report different numbers, plots or curves; let them "
                            "report the same",
                    all.experiment_));
    }
    for (std::size_t i = 0; i < all.numbers_.size(); ++i)
        for (std::size_t r = 1; r < runs.size() && all.numbers_[i].holds; ++r) all.numbers_[i] = runs[r].numbers_[i];
    for (std::size_t i = 0; i < all.measured_.size(); ++i) {
        Measured& mean = all.measured_[i];
        std::vector<Series> values{{"", {0}, {mean.value}}};
        for (std::size_t r = 1; r < runs.size(); ++r) values.push_back({"", {0}, {runs[r].measured_[i].value}});
        const auto [least, most] = std::ranges::minmax(mapped(values, [](const Series& each) { return each.y[0]; }));
        if (least == most) continue;
        const Series point = banded(values);
        mean.value = point.y[0];
        mean.claim = fmt::format("± {:.3g}, {:.5g} … {:.5g} over {} seeds; {}", point.high[0] - point.y[0], least, most,
            runs.size(), mean.claim);
    }
    for (std::size_t p = 0; p < all.plots_.size(); ++p)
        for (std::size_t c = 0; c < all.plots_[p].series.size(); ++c) {
            std::vector<Series> curves{all.plots_[p].series[c]};
            for (std::size_t r = 1; r < runs.size(); ++r) curves.push_back(runs[r].plots_[p].series[c]);
            all.plots_[p].series[c] = banded(curves);
        }
    return all;
}

std::string Report::Number::expectation() const {
    return fmt::format("expected {:.10g} within {:g}{} ({})", expected, tolerance.bound,
        tolerance.is_relative ? " of it" : "", source);
}

bool Report::holds() const {
    return std::all_of(numbers_.begin(), numbers_.end(), [](const Number& number) { return number.holds; });
}

json Report::to_json() const {
    json numbers = json::array(), measured = json::array(), not_reproduced = json::array();
    for (const Number& number : numbers_)
        numbers.push_back({{"name", number.name}, {"value", json_number(number.value)},
            {"expected", json_number(number.expected)}, {"tolerance", json_number(number.tolerance.bound)},
            {"tolerance_kind", number.tolerance.is_relative ? "relative" : "absolute"}, {"source", number.source},
            {"verdict", number.holds ? "pass" : "fail"}});
    for (const Measured& each : measured_)
        measured.push_back({{"name", each.name}, {"value", json_number(each.value)}, {"claim", each.claim}});
    for (const NotReproduced& each : not_reproduced_)
        not_reproduced.push_back({{"name", each.name}, {"why", each.why}});
    json seed;
    if (seed_) seed = *seed_ >> 64 == 0 ? json(static_cast<std::uint64_t>(*seed_)) : json(decimal(*seed_));
    return {{"name", experiment_}, {"version", CHALKGRAD_VERSION}, {"seed", std::move(seed)}, {"command", command_},
        {"numbers", std::move(numbers)}, {"measured", std::move(measured)},
        {"not_reproduced", std::move(not_reproduced)}};
}

std::vector<Report::File> Report::files() const {
    std::vector<File> files;
    std::vector<std::function<std::string()>> makers; // of the bytes, one for each file
    const auto add = [&](const std::string& name, std::string_view extension, std::function<std::string()> make) {
        files.push_back({fmt::format("{}{}{}.{}", experiment_, name.empty() ? "" : "-", name, extension), ""});
        makers.push_back(std::move(make));
    };
    const auto add_data = [&](const std::string& name, const Table& table, const json& document) {
        add(name, "csv", [csv = to_csv(table)] { return csv; });
        add(name, "json", [text = json_text(document)] { return text; });
    };
    const auto add_picture = [&](const std::string& name, const auto& draw) {
        for (const char* const format : {"svg", "pdf", "png"}) add(name, format, [=] { return draw(format); });
    };
    const auto add_plot = [&](const auto& plot) {
        add_data(plot.name, to_table(plot), chalkgrad::to_json(plot));
        add_picture(plot.name, [&plot](const char* format) { return render(plot, format); });
    };

    Table numbers{"", {"name", "value", "expected", "tolerance", "tolerance_kind", "source", "verdict"}, {}};
    for (const Number& number : numbers_)
        numbers.rows.push_back({number.name, number.value, number.expected, number.tolerance.bound,
            number.tolerance.is_relative ? "relative" : "absolute", number.source, number.holds ? "pass" : "fail"});
    for (const Measured& each : measured_)
        numbers.rows.push_back({each.name, each.value, "", "", "", each.claim, "measured"});
    for (const NotReproduced& each : not_reproduced_)
        numbers.rows.push_back({each.name, "", "", "", "", each.why, "not reproduced"});
    add_data("", numbers, to_json());

    for (const Table& table : tables_) add_data(table.name, table, chalkgrad::to_json(table));
    for (const Plot& plot : plots_) add_plot(plot);
    for (const HeatMap& map : maps_) add_plot(map);
    for (const NamedArray& array : arrays_) add(array.name, "npy", [&array] { return npy_file(to_npy(array.values)); });
    for (const Graph& graph : graphs_) {
        add(graph.name, "dot", [&graph] { return graph.dot; });
        add_picture(graph.name, [&graph](const char* format) { return render_dot(graph.dot, format); });
    }
    parallel_for(files.size(), [&](std::size_t i) { files[i].bytes = makers[i](); });
    return files;
}

std::ostream& operator<<(std::ostream& out, const Report& report) {
    for (const Report::Number& each : report.numbers())
        out << fmt::format(
            "{}  {}: {:.10g}, {}\n", each.holds ? "pass" : "FAIL", each.name, each.value, each.expectation());
    for (const Report::Measured& each : report.measured())
        out << fmt::format("      {}: {:.10g} ({})\n", each.name, each.value, each.claim);
    for (const Report::NotReproduced& each : report.not_reproduced())
        out << fmt::format("      {} is not reproduced: {}\n", each.name, each.why);
    return out;
}

} // namespace chalkgrad
