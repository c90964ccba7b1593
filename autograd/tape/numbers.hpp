// A line's numbers as doubles, whatever the tape keeps them in: for tables, drawings and pages.
#pragma once // internal

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// The value of a line as doubles, of dual numbers the value part. Throws Error on a shape-only tape.
std::vector<double> values_of(const Tape& tape, std::size_t line);
/// The gradient of a line as doubles; nothing where none was computed.
std::optional<std::vector<double>> gradient_of(const Tape& tape, std::size_t line);
/// How many numbers a line's forward saves for its backward, on a tape of shapes too.
std::size_t saved_size(const Tape& tape, std::size_t line);
/// The numbers a line's forward saved for its backward; none for a leaf. Throws Error on a shape-only tape.
std::vector<double> saved_of(const Tape& tape, std::size_t line);

/// A handle to a line of type double.
Var<double> line_at(const Tape& tape, std::size_t line);
/// "constant", "variable", "op".
const char* name(Line::Kind kind);
/// Lets every intermediate that has a gradient keep it in the sweeps that follow, as Var::keep_grad() does for one.
void keep_all_gradients(const Tape& tape);

/// What a table shows of an array: its number if it has one, else its smallest, largest and root mean square.
struct Summary {
    std::size_t size = 0, not_finite = 0;
    double first = 0, least = 0, most = 0, rms = 0;
};
Summary summarize(const std::vector<double>& numbers);
/// "1.5" for one number, "-1 … 3, rms 1.87" for several, "empty" for none; says how many are not finite.
std::string to_string(const Summary& summary);

/// The tape as a table: heads, then a row of cells for each line.
using TapeRow = std::array<std::string, 8>;
std::vector<TapeRow> table_of(const Tape& tape);

} // namespace chalkgrad
