// Formulas for pages without a script: the LaTeX of the derivations as MathML, which browsers draw themselves.
#pragma once

#include <string>
#include <string_view>

namespace chalkgrad {

/// A <math> element for the LaTeX between two dollar signs; `display`: on a line of its own. What it does not know is
/// shown as it is written. The derivations' own commands are all known.
std::string mathml(std::string_view latex, bool display);

} // namespace chalkgrad
