// What a picture says about each line of a tape beside its op: the backward's formulas, and numbers.
#pragma once

#include <vector>

#include <chalkgrad/autograd/graph/drawing.hpp>

namespace chalkgrad {

/// By line: the formula of each cotangent that the op sends on, and what its forward keeps for it.
std::vector<std::vector<Note>> backward_notes(const Tape& tape);

/// By line: the root mean square of the value (the number, if it has one), and norm and root mean square of the gradient;
/// "not computed" where no sweep left one.
/// Numbers that are not finite are counted. Throws Error on a tape of shapes.
std::vector<std::vector<Note>> value_notes(const Tape& tape);

} // namespace chalkgrad
