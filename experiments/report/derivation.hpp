// What the derivation pages of docs/derivations state: the one source of every formula of a backward.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chalkgrad {

/// The statements of a page, whose form docs/CONTRIBUTING.md describes.
struct Derivation {
    struct Gradient {
        std::string input; ///< as the op calls it: "gamma"
        std::string latex; ///< to be displayed on a line of its own
        std::string plain; ///< "γ̄ = Σ_rows ȳ n"
    };
    std::vector<std::string> forward; ///< LaTeX, each to be displayed on a line of its own
    std::vector<Gradient> backward;
    std::string kept; ///< what the forward keeps beside its inputs and its result, as plain text; empty if nothing

    /// The statement for this input; nothing when there is none.
    const Gradient* gradient(std::string_view input) const;
};

/// Forward: the displays above the first heading. Backward: the list under "## Backward", "* `input`: $formula$, words"
/// for each input with a gradient, "* kept: words".
Derivation read_derivation(std::string_view page);

/// Of an op of the catalogue, as compiled in; empty for an op without a page.
std::string_view derivation_page(std::string_view op);
const Derivation& derivation_of(std::string_view op);

/// The LaTeX between two dollar signs on one line of Unicode: "\bar x = r\,(h - \tfrac12)" is "x̄ = r (h − ½)". Spaces
/// stand where they are written. A command that is not known stays as it is.
std::string plain_formula(std::string_view latex);

/// The same for a line of text with formulas between dollar signs.
std::string plain_text(std::string_view line);

/// The gradient of an op's input as exercises write it, gx for x̄; throws Error when the page states none.
std::string gradient_in_words(std::string_view op, std::string_view input);

} // namespace chalkgrad
