// An SVG file as a part of an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace chalkgrad {

/// The <svg> element of a file made by gnuplot or Graphviz, without what stands before it. Every id in it, and every
/// reference to one, begins with `prefix`, so that several drawings can share a page. Throws Error when there is no
/// <svg> element.
std::string inline_svg(std::string_view svg, std::string_view prefix);

} // namespace chalkgrad
