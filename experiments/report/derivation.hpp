// What the derivation pages of docs/derivations say in formulas, for pages that show one step at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chalkgrad {

/// The formulas of one op in TeX, each to be displayed on a line of its own.
struct OpFormulas {
    std::vector<std::string> forward, backward;
};

/// Read from a page: the display above its first heading defines the op, and states the gradients too if it holds a
/// bar. If not, they are the displays under "By hand" that begin with a bar, or the formulas in its text that do, or
/// all its displays.
OpFormulas formulas_of(std::string_view page);

} // namespace chalkgrad
