// Plots: what is to be seen, and its picture through gnuplot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/base/array.hpp>
#include <chalkgrad/experiments/report/table.hpp>

namespace chalkgrad {

struct Axis {
    std::string label; ///< with its unit, e.g. "residual step" or "time (ms)"
    bool log = false;
};

enum class Mark { line, points, line_points };

/// y over x, of equal length. A value that is not finite (or above 1e307), or not positive on a logarithmic axis, is a
/// gap. Bounds, if there are any, are as many: a band in the colour of the curve, error bars of points. Where a logarithmic
/// axis cannot show a lower bound, the band reaches down to its end.
struct Series {
    std::string name;
    std::vector<double> x = {}, y = {};
    Mark mark = Mark::line;
    std::vector<double> low = {}, high = {};

    void add(double at, double value) {
        x.push_back(at);
        y.push_back(value);
    }
    void add(double at, double value, double from, double to) {
        add(at, value);
        low.push_back(from);
        high.push_back(to);
    }
};

/// NumPy's linspace and geomspace: n >= 2 numbers from `from` to `to`, both included, with equal differences or equal
/// ratios.
Array<double> linspace(double from, double to, std::size_t n);
Array<double> geomspace(double from, double to, std::size_t n);

/// A series from two arrays of equal size, read in row-major order.
Series series(std::string name, const Array<double>& x, const Array<double>& y, Mark mark = Mark::line);

/// Curves and scatter plots. `name` becomes a file name.
struct Plot {
    std::string name, title;
    Axis x, y;
    std::vector<Series> series = {};

    /// The series of that name; where there is none, a new one with these marks.
    Series& at(std::string_view name, Mark mark = Mark::line_points);
};

/// A matrix as colours, row 0 at the top; `values` are its rows, one after the other. A signed one is shown between
/// −max|v| and max|v|, white at zero.
struct HeatMap {
    std::string name, title;
    std::string x_label, y_label, value_label;
    std::size_t rows = 0, columns = 0;
    std::vector<double> values;
    bool is_signed = false;
};

/// The picture's bytes as svg (text stays text), pdf or png. Colours are those of Okabe and Ito and can be told apart
/// without red or green; dashes and markers differ as well, for print in grey. Labels are plain text in UTF-8: no
/// character has a special meaning. Titles break into lines; a legend makes the picture wider, or higher where names are
/// long, never the axes narrower. Equal input gives equal bytes.
/// Throws Error when gnuplot is absent or fails, when a series' lengths differ and when there is nothing to draw.
std::string render(const Plot& plot, std::string_view format);
std::string render(const HeatMap& map, std::string_view format);

/// The numbers behind the picture, one line a point: series, x, y (columns named by the axes), and "low", "high" if a series
/// has bounds; row, column, value.
Table to_table(const Plot& plot);
Table to_table(const HeatMap& map);

} // namespace chalkgrad
