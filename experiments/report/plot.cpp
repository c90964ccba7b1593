// Plots: a gnuplot script is made from the data and run, and the picture read back.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/html.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/plot.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

// Okabe and Ito, "Color Universal Design" (2008), the darker ones first; yellow is left out, as it fades on white.
constexpr std::array<const char*, 7> colours{
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9"};
constexpr std::array<int, 7> markers{7, 9, 5, 13, 6, 8, 4}; // filled circle, triangle, square, ...; then open
constexpr std::array<int, 5> dashes{1, 2, 4, 5, 3};         // solid first, dots last

// Six points of cividis (Nuñez, Anderton, Renslow 2018): lightness grows all the way, for every kind of colour vision.
constexpr const char* sequential =
    "set palette defined (0 '#00204C', 1 '#31446B', 2 '#666970', 3 '#958F78', 4 '#CAB969', 5 '#FFE945')\n";
constexpr const char* diverging =
    "set palette defined (0 '#00406B', 1 '#0072B2', 2 '#9CC8E3', 3 '#FFFFFF', 4 '#F2B58C', 5 '#D55E00', 6 '#7A3500')\n";

/// A gnuplot string: between single quotes nothing is special but the quote itself.
std::string gnuplot_string(std::string_view text) { return "'" + replaced(one_line(text), "'", "''") + "'"; }

std::string terminal(std::string_view format) {
    if (format == "svg")
        return fmt::format("set terminal svg size 800,500 background 'white' font '{},14'\n", picture_font);
    if (format == "pdf")
        return fmt::format(
            "set terminal pdfcairo size 8in,5in linewidth 1.5 background 'white' font '{},13'\n", picture_font);
    return fmt::format(
        "set terminal pngcairo size 1600,1000 background 'white' font '{},14' fontscale 2 linewidth 2 "
        "pointscale 2\n",
        picture_font);
}

/// Words of the title in lines that fit the picture's width.
std::vector<std::string> lines(std::string_view title) {
    constexpr std::size_t width = 72;
    std::vector<std::string> lines(1);
    const std::string text = one_line(title);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string word = text.substr(at, end - at);
        if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
        lines.back() += (lines.back().empty() ? "" : " ") + word;
        at = end + 1;
    }
    return lines;
}

/// What both kinds of picture share. Numbers at the axes are typeset (10⁶), every other text is taken literally.
std::string frame(std::string_view format, std::string_view title, std::string_view x_label, std::string_view y_label) {
    std::string script = terminal(format) + "set encoding utf8\n";
    const std::vector<std::string> title_lines = lines(title);
    for (std::size_t i = 0; i < title_lines.size(); ++i)
        script += fmt::format("set label {} {} at screen 0.02, screen {:.3f} left noenhanced font '{}:Bold,16'\n",
            i + 1, gnuplot_string(title_lines[i]), 0.95 - 0.05 * static_cast<double>(i), picture_font);
    return script + fmt::format(
                        "set tmargin at screen {:.3f}\n"
                        "set xlabel {} noenhanced\n"
                        "set ylabel {} noenhanced\n"
                        "set tics nomirror out\n",
                        0.95 - 0.05 * static_cast<double>(title_lines.size()), gnuplot_string(x_label),
                        gnuplot_string(y_label));
}

/// gnuplot takes more than about 9e307 as undefined.
bool drawable(double value, bool log) { return std::abs(value) < 1e307 && (!log || value > 0); }

std::string datum(double value, bool log) { return drawable(value, log) ? fmt::format("{:.17g}", value) : "NaN"; }

/// The stretch of an axis that holds all points and a little air, and how its numbers are written.
class AxisRange {
public:
    explicit AxisRange(bool log) : log_(log) {}

    void add(double value) {
        low_ = std::min(low_, value);
        high_ = std::max(high_, value);
    }
    bool empty() const { return low_ > high_; }

    std::string script(char axis) const {
        double low = log_ ? std::log10(low_) : low_, high = log_ ? std::log10(high_) : high_;
        const double air = low < high ? 0.03 * (high - low) : log_ || low == 0 ? 1 : std::abs(low) / 2;
        low = log_ ? std::pow(10, std::max(low - air, -307.)) : low - air;
        high = log_ ? std::pow(10, std::min(high + air, 307.)) : high + air;
        const bool powers = log_ && high / low > 10 && (high >= 1e5 || low < 1e-4);
        return fmt::format("{1}set {0}range [{2:.17g}:{3:.17g}]\nset format {0} '{4}'\n{5}", axis,
            log_ ? fmt::format("set logscale {}\n", axis) : "", low, high, powers ? "10^{%T}" : "%h",
            log_ ? ticks_between_powers(axis, low, high) : "");
    }

private:
    /// An axis of one or two decades would show one or two numbers: it gets more of them, 2 and 5 or 2, 3 and 5.
    static std::string ticks_between_powers(char axis, double low, double high) {
        if (high / low > 300) return "";
        std::string ticks;
        for (int power = int(std::floor(std::log10(low))); power <= int(std::floor(std::log10(high))); ++power)
            for (const int digit : {2, 3, 5})
                if (const double at = digit * std::pow(10, power);
                    at > low && at < high && (digit != 3 || high / low < 30))
                    ticks += fmt::format("{}{:.6g}", ticks.empty() ? "" : ",", at);
        return ticks.empty() ? "" : fmt::format("set {}tics add ({})\n", axis, ticks);
    }

    bool log_;
    double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
};

/// Whole steps, at most about ten of them.
std::size_t tick_step(std::size_t n) {
    std::size_t step = 1;
    for (std::size_t k = 0; n / step > 10; ++k) step = k % 3 == 1 ? step / 2 * 5 : step * 2; // 1, 2, 5, 10, 20, ...
    return step;
}

/// What gnuplot, without a start-up file, makes of the script.
std::string run_gnuplot(std::string_view script, std::string_view format, std::string_view title) {
    constexpr double patience = 120;
    auto drawn = drawn_by("plot", "gnuplot-nox", {"gnuplot", "-d"}, script, format, patience);
    if (!drawn) throw Error(fmt::format("plot: gnuplot was not done after {} seconds; draw fewer points", patience));
    if (format != "svg") return *std::move(drawn);
    const std::string titled = replaced(*drawn, "<title>Gnuplot</title>", "<title>" + xml_line(title) + "</title>");
    return replaced(
        titled, fmt::format("font-family=\"{}\"", picture_font), fmt::format("font-family=\"{}\"", picture_fonts));
}

} // namespace

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

std::string render(const Plot& plot, std::string_view format) {
    require_format("plot", format, {"svg", "pdf", "png"});
    AxisRange x_range(plot.x.log), y_range(plot.y.log);
    std::string data, draw;
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const Series& series = plot.series[i];
        const std::size_t n = series.x.size();
        if (n != series.y.size())
            throw Error(fmt::format("plot '{}': series '{}' has {} x and {} y; give one y for every x", plot.title,
                series.name, n, series.y.size()));
        bool seen = false;
        data += fmt::format("$d{} << EOD\n", i);
        for (std::size_t k = 0; k < n; ++k) {
            data += datum(series.x[k], plot.x.log) + ' ' + datum(series.y[k], plot.y.log) + '\n';
            if (!drawable(series.x[k], plot.x.log) || !drawable(series.y[k], plot.y.log)) continue;
            seen = true;
            x_range.add(series.x[k]);
            y_range.add(series.y[k]);
        }
        data += "EOD\n";
        if (!seen) continue; // gnuplot refuses a curve without a point

        draw += fmt::format("{} $d{} using 1:2 ", draw.empty() ? "plot" : ",", i);
        const char* const colour = colours[i % colours.size()];
        const int dash = dashes[i % dashes.size()], marker = markers[i % markers.size()];
        if (series.mark == Mark::points)
            draw += fmt::format(
                "with points linecolor '{}' pointtype {} pointsize {}", colour, marker, n > 300 ? 0.5 : 1.1);
        else
            draw += fmt::format("with {} linecolor '{}' linewidth 2.5 dashtype {}",
                series.mark == Mark::line ? "lines" : "linespoints", colour, dash);
        if (series.mark == Mark::line_points)
            draw +=
                fmt::format(" pointtype {} pointsize 1.1 pointinterval {}", marker, std::max<std::size_t>(1, n / 12));
        draw += " title " + gnuplot_string(series.name);
    }
    if (draw.empty())
        throw Error(fmt::format("plot '{}': nothing to draw: no series has a finite point{}", plot.title,
            plot.x.log || plot.y.log ? " that its logarithmic axis can show" : ""));
    const std::string script =
        frame(format, plot.title, plot.x.label, plot.y.label) + x_range.script('x') + y_range.script('y') +
        "set border 3 linecolor '#404040'\nset grid linetype 1 linecolor '#DDDDDD' linewidth 1\n" +
        (plot.series.size() > 1 ? "set key outside right center vertical Left reverse noenhanced samplen 3\n"
                                : "unset key\n") +
        data + draw + '\n';
    return run_gnuplot(script, format, plot.title);
}

std::string render(const HeatMap& map, std::string_view format) {
    require_format("heat map", format, {"svg", "pdf", "png"});
    if (map.rows == 0 || map.columns == 0 || map.values.size() != map.rows * map.columns)
        throw Error(fmt::format("heat map '{}': {} values for {} rows and {} columns; give rows × columns values",
            map.title, map.values.size(), map.rows, map.columns));
    double largest = 0;
    std::size_t finite = 0;
    std::string data = "$d << EOD\n";
    for (std::size_t i = 0; i < map.values.size(); ++i) {
        const double value = map.values[i];
        data += datum(value, false) + ((i + 1) % map.columns == 0 ? '\n' : ' ');
        if (!drawable(value, false)) continue;
        ++finite;
        largest = std::max(largest, std::abs(value));
    }
    data += "EOD\n";
    if (finite == 0) throw Error(fmt::format("heat map '{}': nothing to draw: no value is finite", map.title));

    std::string script = frame(format, map.title, map.x_label, map.y_label);
    script += fmt::format(
        "set xrange [-0.5:{0}-0.5]\nset yrange [{1}-0.5:-0.5]\nset xtics 0,{2}\nset ytics 0,{3}\n"
        "set cblabel {4} noenhanced\nset cbtics format '%h'\n",
        map.columns, map.rows, tick_step(map.columns), tick_step(map.rows), gnuplot_string(map.value_label));
    script += map.is_signed ? diverging : sequential;
    if (map.is_signed)
        script +=
            fmt::format("set cbrange [{0:.17g}:{1:.17g}]\n", largest > 0 ? -largest : -1, largest > 0 ? largest : 1);
    if (finite < map.values.size()) // a cell without a number is hatched
        script +=
            "set object 1 rectangle from graph 0,0 to graph 1,1 behind fillcolor '#606060' fillstyle pattern 4 "
            "noborder\n";
    script += data + fmt::format("plot $d matrix with image {} notitle\n", format == "svg" ? "pixels" : "");
    std::string picture = run_gnuplot(script, format, map.title);
    if (format == "svg") // no light seams between the cells
        if (const std::size_t at = picture.find("<svg "); at != std::string::npos)
            picture.insert(at + 5, "shape-rendering=\"crispEdges\" ");
    return picture;
}

Table to_table(const Plot& plot) {
    Table table{plot.name, {"series", plot.x.label, plot.y.label}, {}};
    for (const Series& series : plot.series)
        for (std::size_t k = 0; k < std::min(series.x.size(), series.y.size()); ++k)
            table.rows.push_back({series.name, series.x[k], series.y[k]});
    return table;
}

Table to_table(const HeatMap& map) {
    Table table{map.name, {"row", "column", map.value_label}, {}};
    for (std::size_t i = 0; i < map.values.size() && map.columns > 0; ++i)
        table.rows.push_back({i / map.columns, i % map.columns, map.values[i]});
    return table;
}

} // namespace chalkgrad
