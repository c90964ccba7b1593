// The inside of gradcheck: structure → Jacobians → findings → verdict, each step a function of what came before.
// Users see gradcheck.hpp.
#pragma once // internal

#include <optional>

#include <chalkgrad/autograd/check/checked_program.hpp>
#include <chalkgrad/autograd/check/findings.hpp>
#include <chalkgrad/autograd/check/jacobian_blocks.hpp>

namespace chalkgrad::detail {

// ---- structure

Structure find_structure(CheckedProgram& s);

// ---- Jacobians

/// The Jacobian by the backward, by dual numbers and by differences.
struct Measured {
    Jacobians jacobians;
    Findings found; ///< kinks, and what is wrong on them
};
/// Nothing where something depends on an input outside its span: the structure does not hold.
std::optional<Measured> measure_jacobians(CheckedProgram& s, const Structure& structure);
/// The backward's Jacobian at the program's point, into one matrix of each block.
void fill_backward(CheckedProgram& s, Jacobians& jacobians, Matrix Block::*matrix);
/// Measures Block::input_rounding and Block::evaluation_rounding, if an element may turn out wrong.
void measure_rounding(CheckedProgram& s, Jacobians& jacobians);
/// Measures Block::evaluation_rounding, once.
void measure_evaluation_rounding(CheckedProgram& s, Jacobians& jacobians);

// ---- findings

/// ⟨w, Jv⟩ = ⟨Jᵀw, v⟩ for random v and w, exact at kinks too, since both sides take the same branch.
Findings check_transpose(CheckedProgram& s, const Jacobians& jacobians);
Findings check_identities(CheckedProgram& s, Jacobians& jacobians);
Findings check_contract(CheckedProgram& s);
Findings check_second_order(CheckedProgram& s);
/// A few random directions instead of a Jacobian.
struct AlongDirections {
    Findings found;
    bool agree = false;
};
AlongDirections check_along_directions(CheckedProgram& s);
/// The largest error of the declared identities for random cotangents; nothing where one does not hold.
std::optional<double> identities_along_cotangents(CheckedProgram& s, Generator& rng);

// ---- verdict

/// The report: every element of the Jacobians against its tolerance, and what the steps have found.
GradcheckReport verdict_of(CheckedProgram& s, const Jacobians& jacobians, const Findings& found);
/// The same report, inconclusive where the inputs cannot show a fault, then with a better point.
GradcheckReport with_blind_spots(CheckedProgram& s, const Jacobians& jacobians, GradcheckReport report);

} // namespace chalkgrad::detail
