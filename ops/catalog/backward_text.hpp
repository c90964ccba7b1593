// What each op's backward says, in one line for each input: for drawings and tables. The derivations are in docs/derivations.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chalkgrad {

struct BackwardText {
    /// An input and the formula of its cotangent, "x̄ = r (γȳ − n⟨n γȳ⟩)". ȳ is the cotangent of the result, ⟨·⟩ the mean over a row,
    /// Σ the sum over rows, unb the sum over the axes along which the operand was repeated.
    std::vector<std::pair<std::string, std::string>> cotangents;
    std::string saved; ///< what the forward keeps for it beside its inputs and its result; empty if nothing
};

/// The text of an op; nothing for one that is not in the catalogue. Ops of any number of inputs have one entry for all.
const BackwardText* backward_text(std::string_view op);

} // namespace chalkgrad
