// Blame: which line's own backward is wrong, when a whole program's gradient is; and what kind of mistake it looks like.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/tape.hpp>

namespace chalkgrad {

/// One line whose vjp is not the transpose of its own forward's derivative.
struct Blame {
    std::size_t line;
    std::string op;
    std::string scope;  ///< "block/attention", or empty
    std::string input;  ///< what the op calls the operand whose gradient is wrong
    double error;       ///< |⟨w, J v⟩ − ⟨Jᵀw, v⟩| / Σ|terms| for that operand alone
    std::string hint;   ///< the likely cause in words, or empty
};

/// Checks every op between the variables and y by itself, at the values it was recorded with: one random direction and one
/// random cotangent for each operand, dual numbers against the vjp (differences for ops that run in double only). In
/// tape order; empty where every op is right.
std::vector<Blame> blame(const Var<double>& y, std::uint64_t seed = 0);

/// What a wrong gradient looks like beside the right one, row by row of a Jacobian (rows × columns, row-major): "off by a constant
/// factor 2", "the sign is wrong", "a term along x is missing", … Empty when it looks like nothing known. x: the input's numbers.
std::string likely_cause(const std::vector<double>& analytic, const std::vector<double>& right, std::size_t rows, std::size_t columns,
                         const std::vector<double>& x);

} // namespace chalkgrad
