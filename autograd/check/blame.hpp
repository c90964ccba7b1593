// Blame: which line's own backward is wrong, when a whole program's gradient is; and what kind of mistake it looks like.
#pragma once // internal

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// What a wrong gradient looks like beside the right one.
enum class Cause {
    unknown,
    contract,          ///< no wrong Jacobian: the backward is not what the tape relies on
    not_finite,        ///< NaN or infinite where the slope is finite
    never_written,     ///< zero throughout
    sign,              ///< times −1
    factor,            ///< times a constant
    transposed,        ///< the Jacobian's transpose
    misplaced,         ///< at the wrong elements
    not_summed,        ///< only some of the outputs that an element feeds have contributed
    gain,              ///< each output's row has a factor of its own
    slopes,            ///< single elements: the slope itself
    along_x,           ///< a multiple of x is missing in every row: the statistic depends on x too
    along_centred_x,   ///< a multiple of x − mean(x), with or without a constant
    statistic,         ///< a multiple of the right row and of x: another mean square, or another root of it
    mean_of_cotangent, ///< a constant is missing in every row
    rank_one,          ///< a product of two vectors is missing in every row: a sum over the row
    epsilon,           ///< wrong only where the numbers are small
    small_term,        ///< an approximation of the slope
    branch,            ///< right for some rows of the input, wrong for others
    should_be_zero,    ///< a mask or a clamp was forgotten
    zeroed,            ///< a path, or a branch, was left out
    some_elements      ///< a few elements are wrong, all others right to the last digits
};
/// What to look for, as one sentence without a full stop; empty for unknown.
const char* describe(Cause cause);

/// One line whose vjp is not the transpose of its own forward's derivative.
struct Blame {
    std::size_t line;
    std::string op;
    std::string scope;    ///< "block/attention", or empty
    std::string input;    ///< what the op calls the operand whose gradient is wrong
    std::string variable; ///< the name of the line it is, or empty
    double error;         ///< the largest relative error of that gradient
    Cause cause;
    std::string hint; ///< the likely cause in words, or empty
};

/// Checks every op between the variables and y by itself, at the values it was recorded with, one operand at a time. In tape order;
/// empty where every op is right.
std::vector<Blame> blame(const Var<double>& y, std::uint64_t seed = 0);

/// The Jacobian of one op along one operand, as its vjp has it and as it is: rows × columns, row-major.
struct WrongJacobian {
    std::size_t rows, columns; ///< elements of the output, of the input
    std::vector<double> analytic, right;
    std::vector<double> noise; ///< how far off `right` may be; empty: not at all
    std::vector<double> x;     ///< the input's numbers
    std::size_t last;          ///< how many of them make a row of the input
};

/// The likely cause, and the factor where it is Cause::factor. Patterns are tried from the most to the least specific.
std::pair<Cause, double> likely_cause(const WrongJacobian& jacobian);

} // namespace chalkgrad
