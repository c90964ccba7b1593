// A tape with its fused ops taken apart: each that has a composed twin becomes the primitive ops that it stands for.
#pragma once

#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

struct Expanded {
    Tape tape;                     ///< values, if the first tape has them
    std::vector<std::size_t> line; ///< where each line of the first tape is
    std::vector<std::size_t> kept; ///< lines of the first tape whose op has no composed twin that fits, and stays
};

/// Records a tape again. A fused op becomes a scope with its name and its role, so that drawings and topology still see what it
/// is. Leaves keep their names and kinds; scopes stay. Gradients are not copied.
Expanded expand(const Tape& tape);

} // namespace chalkgrad
