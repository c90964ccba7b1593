// A formula of a derivation page as plain text, for drawings, messages and the terminal.
#pragma once

#include <string>
#include <string_view>

namespace chalkgrad {

/// The LaTeX between two dollar signs on one line of Unicode: "\bar x = r\,(h - \tfrac12)" is "x̄ = r (h − ½)". Spaces
/// stand where they are written. A command that is not known stays as it is.
std::string plain_formula(std::string_view latex);

/// The same for a line of text with formulas between dollar signs.
std::string plain_text(std::string_view line);

} // namespace chalkgrad
