// The inside of gradcheck: structure → Jacobians → findings → verdict, each step a function of what came before; and what the file of a
// step includes. Users see gradcheck.hpp.
#pragma once // internal

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/check/checked_program.hpp>
#include <chalkgrad/autograd/check/copies.hpp>
#include <chalkgrad/autograd/check/findings.hpp>
#include <chalkgrad/autograd/check/jacobian_blocks.hpp>

namespace chalkgrad::detail {

// ---- structure

Structure find_structure(CheckedProgram& s);

// ---- Jacobians

/// The Jacobian by the backward, by dual numbers and by differences.
struct Measured {
    Jacobians jacobians;
    Findings found; ///< kinks
    std::vector<char>
        bends; ///< by output element: 1 where slopes rise at kinks, 2 where they fall, 3 where both happens
    std::vector<std::string> outside; ///< slopes on kinks that do not lie between those on both sides, in words
};
/// Nothing where something depends on an input outside its span: the structure does not hold.
std::optional<Measured> measure_jacobians(CheckedProgram& s, const Structure& structure);
/// The backward's Jacobian at the program's point, into one matrix of each block.
void fill_backward(CheckedProgram& s, Jacobians& jacobians, Matrix Block::*matrix);
/// Measures Block::input_rounding and Block::evaluation_rounding, if an element may turn out wrong.
void measure_rounding(CheckedProgram& s, Jacobians& jacobians);
/// Finds Block::off, of a program that runs in double only.
void find_repeated(CheckedProgram& s, Jacobians& jacobians);
/// Measures Block::evaluation_rounding, once.
void measure_evaluation_rounding(CheckedProgram& s, Jacobians& jacobians);

// ---- findings

/// ⟨w, Jv⟩ = ⟨Jᵀw, v⟩ for random v and w; numbers on kinks stay where they are.
Findings check_transpose(CheckedProgram& s, const Jacobians& jacobians);
/// On kinks the backward gives slopes that lie between those on both sides in every direction.
Findings check_kinks(CheckedProgram& s, const Measured& measured);
/// ⟨w, Jv⟩ = ⟨Jᵀw, v⟩, coarsely, at another point: a backward that keeps what it was first called with is right there only.
Findings check_elsewhere(CheckedProgram& s);
/// The same where the program stands: the first output along which it does not hold.
std::optional<std::size_t> disagreeing_output(CheckedProgram& s, Generator& rng);
Findings check_identities(CheckedProgram& s, Jacobians& jacobians);
/// The input an identity is about, by position; throws Error where there is none, or its arrays do not fit.
std::size_t input_of(const CheckedProgram& s, const Identity& known);
/// An op is a function, its backward a function of its own forward and of the cotangent, and both only assign.
Findings check_contract(CheckedProgram& s);
/// Jᵀw for a random w is the sum of the rows of J. A limit, a threshold, a maximum or a cast of cotangents is not.
Findings check_additivity(CheckedProgram& s, Jacobians& jacobians);
/// An operand's gradient does not depend on which others are wanted, nor on whether operands share one array.
Findings check_operands(CheckedProgram& s);
/// Long double, float and, where asked, both instruction sets agree with double.
Findings check_kernels(CheckedProgram& s);
Findings check_second_order(CheckedProgram& s);
/// Where the largest number is, without its sign.
std::size_t largest_of(const std::vector<double>& gaps);
/// Sets to 0 what changes when the inputs are rounded otherwise, as rounding errors do and mistakes do not. `gaps_nearby` finds the same
/// gaps from Block::nearby.
void drop_rounding(CheckedProgram& s, Jacobians& jacobians, std::vector<double>& gaps,
    const std::function<std::vector<double>()>& gaps_nearby);
/// A few random directions instead of a Jacobian, and whether all oracles agree there.
std::pair<Findings, bool> check_along_directions(CheckedProgram& s);
/// The largest error of the declared identities for random cotangents; nothing where one does not hold.
std::optional<double> identities_along_cotangents(CheckedProgram& s, Generator& rng);

// ---- verdict

/// Every element of the Jacobians against its tolerance.
Findings judge(CheckedProgram& s, const Jacobians& jacobians);
/// The whole Jacobian or random directions, as the options say, judged; what is left of it is in `jacobians`.
Findings check_jacobians(CheckedProgram& s, Jacobians& jacobians);
/// What concerns the backward of any program alike: the contract, the Jacobian, additivity.
Findings check_backward(CheckedProgram& s, Jacobians& jacobians);
/// The report: what all steps have found, and what is to be made of it.
GradcheckReport verdict_of(CheckedProgram& s, Findings found);
/// The same report, inconclusive where the inputs cannot show a fault, then with a better point.
GradcheckReport with_blind_spots(CheckedProgram& s, const Jacobians& jacobians, GradcheckReport report);

} // namespace chalkgrad::detail
