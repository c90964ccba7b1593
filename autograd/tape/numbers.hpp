// A line's numbers as doubles, whatever the tape keeps them in: for printing, drawing and looking for what is not finite.
#pragma once // internal

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// The value of a line as doubles, of dual numbers the value part. Throws Error on a shape-only tape.
std::vector<double> values_of(const Tape& tape, std::size_t line);
/// The gradient of a line as doubles; nothing where none was computed.
std::optional<std::vector<double>> gradient_of(const Tape& tape, std::size_t line);

/// Line, name, op, inputs, shape, value, gradient and scope of a line as text.
using TapeRow = std::array<std::string, 8>;
/// The names of these columns, then every line.
std::vector<TapeRow> rows_of(const Tape& tape);

/// A handle to a line of type double.
Var<double> line_at(const Tape& tape, std::size_t line);
/// "constant", "variable", "op".
const char* name(Line::Kind kind);

/// What a table shows of an array: its number if it has one, else its smallest, largest and root mean square.
struct Summary {
    std::size_t size = 0, not_finite = 0;
    double first = 0, least = 0, most = 0, rms = 0;
};
Summary summarize(const std::vector<double>& numbers);
/// "1.5" for one number, "-1 … 3, rms 1.87" for several, "empty" for none; says how many are not finite.
std::string to_string(const Summary& summary);

/// The digits before the point in threes: "8030261248" becomes "8,030,261,248", "-1234.5" "-1,234.5".
std::string with_commas(std::string number);
template <std::integral N> std::string with_commas(N number) { return with_commas(std::to_string(number)); }

/// Numbers in nested brackets, `digits` significant digits, long axes shortened to three from each end.
std::string format_array(const std::vector<double>& numbers, const Shape& shape, int digits = 6);

/// The multi-index of an element by its place in row-major order.
std::vector<std::size_t> multi_index(std::size_t flat, const Shape& shape);

/// Where the first number that is not finite was met.
struct NonFinite {
    enum class Direction { forward, backward };
    Direction direction;
    std::size_t line;
    std::string op;
    std::string name;  ///< the user's, or empty
    std::string scope; ///< "block/attention", or empty
    std::vector<std::size_t> index;
    double value;
};
/// "forward: inf at [1, 2] of line 7 (exp, in block)".
std::string to_string(const NonFinite& found);

/// The earliest line whose value has a NaN or an infinity, if any.
std::optional<NonFinite> first_nonfinite(const Tape& tape);
/// The same up to y; then, if all values are finite, the first gradient that is not, in the order of the sweep from y with a
/// cotangent of ones. Kept gradients are not touched.
template <class T> std::optional<NonFinite> first_nonfinite(const Var<T>& y);

} // namespace chalkgrad
