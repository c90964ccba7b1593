// Blame: which line's own backward is wrong, when a whole program's gradient is; and what kind of mistake it looks like.
#pragma once // internal

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// What a wrong gradient looks like beside the right one; describe() says it in words.
enum class Cause {
    unknown,
    contract, ///< no wrong Jacobian: the backward is not what the tape relies on
    not_finite,
    never_written,
    sign,
    factor,
    transposed,
    misplaced,
    not_summed,
    gain,
    slopes,
    along_x,
    along_centred_x,
    statistic,
    mean_of_cotangent,
    rank_one,
    epsilon,
    small_term,
    branch,
    should_be_zero,
    zeroed,
    some_elements
};
/// What to look for, as one sentence without a full stop; empty for unknown.
const char* describe(Cause cause);
/// The cause of that name, as exercises.json spells it; throws Error where there is none.
Cause cause_named(std::string_view name);

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
