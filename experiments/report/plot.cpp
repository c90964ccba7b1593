// Plots: a gnuplot script is made from the data and run, and the picture read back.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/html.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/plot.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/ranges.h>

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

// ---- where everything goes, in pixels of the SVG

constexpr double axes_width = 800, axes_height = 500, font = 14, title_font = 16, line_height = 25, legend_height = 20,
                 bottom = 70; // below the axes: numbers and label

/// About how wide a text is in DejaVu Sans, in units of the font's size; rather too wide than too narrow.
double width_of(std::string_view text) {
    double width = 0;
    for (const unsigned char c : text) {
        if (c >= 0xE2) width += 1; // a letter of three bytes or more: symbols, Chinese
        else if (c >= 0xC0) width += 0.75;
        else if (c >= 0x80) continue; // the rest of a letter
        else if (std::strchr("MW@%m", c) != nullptr) width += 1;
        else if (std::strchr("iljI.,:;'|! ", c) != nullptr) width += 0.36;
        else width += c >= 'A' && c <= 'Z' ? 0.76 : 0.64;
    }
    return width;
}

/// The longest beginning of a text that is no wider, whole letters and at least one.
std::string_view beginning(std::string_view text, double width) {
    std::size_t end = text.size();
    const auto is_inside = [&] { return end < text.size() && (text[end] & 0xC0) == 0x80; };
    while (end > 1 && (is_inside() || width_of(text.substr(0, end)) > width)) --end;
    while (is_inside()) ++end;
    return text.substr(0, end);
}

/// Words of the title in lines that fit the picture's width.
std::vector<std::string> lines(std::string_view title) {
    constexpr double width = (axes_width - 32) / (1.12 * title_font); // of bold letters
    std::vector<std::string> lines(1);
    const std::string text = one_line(title);
    for (std::size_t at = 0; at < text.size();) {
        std::string_view word = std::string_view(text).substr(at, text.find(' ', at) - at);
        at += word.size() + 1;
        if (!lines.back().empty() && width_of(lines.back()) + 0.36 + width_of(word) > width) lines.emplace_back();
        if (!lines.back().empty()) lines.back() += ' ';
        for (; width_of(word) > width; lines.emplace_back()) {
            lines.back() = beginning(word, width);
            word.remove_prefix(lines.back().size());
        }
        lines.back() += word;
    }
    return lines;
}

/// A picture's size, which the title and the legend make larger than its axes.
struct Canvas {
    std::vector<std::string> title;
    double width = axes_width, height = axes_height;
    std::string legend = "unset key\n";

    explicit Canvas(std::string_view title_text) : title(lines(title_text)) {
        height += line_height * static_cast<double>(title.size() - 1);
    }
    double x(double pixels) const { return pixels / width; }
    double y(double pixels) const { return pixels / height; } ///< from below
    double top() const { return height - line_height * static_cast<double>(title.size() + 1); }

    /// Beside the axes; below them where names are long. Puts names that are too long for both into fewer letters. The axes
    /// are at least as high: what does not fit beside them gnuplot puts into a second column, which it cuts, or leaves out.
    void add_legend(std::vector<std::string>& names, std::string_view format) {
        constexpr double sample = 60, most = axes_width - sample - 40;
        double widest = 0;
        for (std::string& name : names) {
            name = one_line(name);
            if (font * width_of(name) > most) name = std::string(beginning(name, most / font - 1)) + "…";
            widest = std::max(widest, font * width_of(name));
        }
        const double needed = legend_height * static_cast<double>(names.size()) + 20;
        const bool beside = widest < 0.4 * axes_width;
        height = std::max(height, height - top() + needed + bottom);
        if (!beside) height += needed;
        const double line = (format == "svg" ? 1.5 : 1.164) * font; // gnuplot's
        const double right = axes_width - 25, below = beside ? 0 : needed;
        if (beside) width += widest + sample - 15;
        legend = fmt::format(
            "set key at screen {:.4f},{:.4f} left top vertical maxrows {} Left reverse noenhanced samplen 3 "
            "spacing {:.3f}\nset rmargin at screen {:.4f}\n{}",
            x(beside ? right + 10 : 30), y(beside ? top() : below - 5), names.size(), legend_height / line, x(right),
            beside ? "" : fmt::format("set bmargin at screen {:.4f}\n", y(below + bottom)));
    }
};

std::string terminal(std::string_view format, const Canvas& canvas) {
    if (format == "svg")
        return fmt::format("set terminal svg size {:.0f},{:.0f} background 'white' font '{},{}'\n", canvas.width,
            canvas.height, picture_font, font);
    if (format == "pdf") // a pixel is a point, of which gnuplot takes a font to have 4/3
        return fmt::format(
            "set terminal pdfcairo size {:.4f},{:.4f} linewidth 1.5 background 'white' font '{},{}' fontscale 0.75\n",
            canvas.width / 72, canvas.height / 72, picture_font, font);
    return fmt::format(
        "set terminal pngcairo size {:.0f},{:.0f} background 'white' font '{},{}' fontscale 1.5 linewidth 2 "
        "pointscale 2\n",
        2 * canvas.width, 2 * canvas.height, picture_font, font);
}

/// What both kinds of picture share. Numbers at the axes are typeset (10⁶), every other text is taken literally.
std::string frame(std::string_view format, const Canvas& canvas, std::string_view x_label, std::string_view y_label) {
    std::string script = terminal(format, canvas) + "set encoding utf8\n";
    for (std::size_t i = 0; i < canvas.title.size(); ++i)
        script += fmt::format("set label {} {} at screen {:.4f}, screen {:.4f} left noenhanced font '{}:Bold,{}'\n",
            i + 1, gnuplot_string(canvas.title[i]), canvas.x(16),
            canvas.y(canvas.height - line_height * static_cast<double>(i + 1)), picture_font, title_font);
    return script + fmt::format(
                        "set tmargin at screen {:.4f}\nset xlabel {} noenhanced\nset ylabel {} noenhanced\n"
                        "set tics nomirror out\n",
                        canvas.y(canvas.top()), gnuplot_string(x_label), gnuplot_string(y_label));
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
    double low() const { return low_; } ///< for what reaches below it

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
    const auto font = [](std::string_view name) { return fmt::format("font-family=\"{}\"", name); };
    return replaced(replaced(titled, font(picture_font), font(picture_fonts)),
        font(fmt::format("{}:Bold", picture_font)), font(picture_fonts) + " font-weight=\"bold\"");
}

/// Throws Error unless a series has as many y as x, and as many bounds or none.
void check(const Plot& plot, const Series& series) {
    const std::size_t n = series.x.size(), low = series.low.size(), high = series.high.size();
    if (n != series.y.size())
        throw Error(fmt::format("plot '{}': series '{}' has {} x and {} y; give one y for every x", plot.title,
            series.name, n, series.y.size()));
    if (low != high || (low != 0 && low != n))
        throw Error(fmt::format(
            "plot '{}': series '{}' has {} points, {} lower and {} upper bounds; give both for every point, "
            "or none",
            plot.title, series.name, n, low, high));
}

/// The data of series i, x, y and bounds; and of its band, where empty lines part the stretches that have bounds.
std::string data_of(const Plot& plot, std::size_t i, const AxisRange& y_range) {
    const Series& series = plot.series[i];
    std::string points, band;
    for (std::size_t k = 0; k < series.x.size(); ++k) {
        const std::string x = datum(series.x[k], plot.x.log), y = datum(series.y[k], plot.y.log);
        std::string bounds;
        if (!series.low.empty()) {
            const double high = series.high[k];
            const double low = plot.y.log && series.low[k] <= 0 ? y_range.low() : series.low[k];
            if (x != "NaN" && drawable(low, plot.y.log) && drawable(high, plot.y.log))
                bounds = fmt::format("{:.17g} {:.17g}", low, high);
        }
        points += fmt::format("{} {} {}\n", x, y, bounds.empty() ? y + ' ' + y : bounds);
        band += bounds.empty() ? "\n" : fmt::format("{} {}\n", x, bounds);
    }
    return fmt::format("$d{0} << EOD\n{1}EOD\n$b{0} << EOD\n{2}EOD\n", i, points, series.low.empty() ? "" : band);
}

/// How series i is drawn; its band lies below all curves.
struct Drawn {
    std::string band, curve;

    Drawn(const Series& series, std::size_t i, const std::string& name) {
        const std::size_t n = series.x.size();
        const char* const colour = colours[i % colours.size()];
        const int dash = dashes[i % dashes.size()], marker = markers[i % markers.size()];
        const bool bounds = !series.low.empty(), points = series.mark == Mark::points;
        if (bounds && !points)
            band = fmt::format(
                "$b{} using 1:2:3 with filledcurves fillcolor '{}' fillstyle transparent solid 0.2 noborder notitle", i,
                colour);
        curve = fmt::format("$d{} using 1:2{} ", i, bounds && points ? ":3:4" : "");
        if (points)
            curve += fmt::format("with {} linecolor '{}' pointtype {} pointsize {}", bounds ? "yerrorbars" : "points",
                colour, marker, n > 300 ? 0.5 : 1.1);
        else
            curve += fmt::format("with {} linecolor '{}' linewidth 2.5 dashtype {}",
                series.mark == Mark::line ? "lines" : "linespoints", colour, dash);
        if (series.mark == Mark::line_points)
            curve +=
                fmt::format(" pointtype {} pointsize 1.1 pointinterval {}", marker, std::max<std::size_t>(1, n / 12));
        curve += " title " + gnuplot_string(name);
    }
};

} // namespace

std::string render(const Plot& plot, std::string_view format) {
    require_format("plot", format, {"svg", "pdf", "png"});
    AxisRange x_range(plot.x.log), y_range(plot.y.log);
    std::vector<std::size_t> shown; // gnuplot refuses a curve without a point
    std::vector<std::string> names;
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const Series& series = plot.series[i];
        check(plot, series);
        bool seen = false;
        for (std::size_t k = 0; k < series.x.size(); ++k) {
            if (!drawable(series.x[k], plot.x.log) || !drawable(series.y[k], plot.y.log)) continue;
            seen = true;
            x_range.add(series.x[k]);
            y_range.add(series.y[k]);
            if (series.low.empty()) continue;
            for (const double bound : {series.low[k], series.high[k]})
                if (drawable(bound, plot.y.log)) y_range.add(bound);
        }
        if (!seen) continue;
        shown.push_back(i);
        names.push_back(series.name);
    }
    if (shown.empty())
        throw Error(fmt::format("plot '{}': nothing to draw: no series has a finite point{}", plot.title,
            plot.x.log || plot.y.log ? " that its logarithmic axis can show" : ""));
    Canvas canvas(plot.title);
    if (plot.series.size() > 1) canvas.add_legend(names, format);
    std::string data;
    std::vector<std::string> bands, curves;
    for (std::size_t k = 0; k < shown.size(); ++k) {
        data += data_of(plot, shown[k], y_range);
        const Drawn drawn(plot.series[shown[k]], shown[k], names[k]);
        if (!drawn.band.empty()) bands.push_back(drawn.band);
        curves.push_back(drawn.curve);
    }
    bands.insert(bands.end(), curves.begin(), curves.end());
    return run_gnuplot(frame(format, canvas, plot.x.label, plot.y.label) + x_range.script('x') + y_range.script('y') +
                           "set border 3 linecolor '#404040'\nset grid linetype 1 linecolor '#DDDDDD' linewidth 1\n" +
                           canvas.legend + data + fmt::format("plot {}\n", fmt::join(bands, ", ")),
        format, plot.title);
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

    std::string script = frame(format, Canvas(map.title), map.x_label, map.y_label);
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

} // namespace chalkgrad
