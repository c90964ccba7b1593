// Pictures of graphs, drawn by Graphviz's program `dot`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chalkgrad {

/// Lays `dot` (one graph in the DOT language, UTF-8) out with Graphviz's `dot` and returns the bytes of the picture.
/// Formats: svg (text stays text), pdf, png, plain, json, dot. A text that names no font gets `picture_fonts`, a png
/// without `dpi` 144 dots per inch. Equal input gives equal bytes.
/// Throws Error for an unknown format, when `dot` is not installed, when it takes more than two minutes, and with its
/// words for DOT that does not parse and for whatever it warns of.
std::string render_dot(std::string_view dot, std::string_view format);

/// The same, but nothing if the picture is not done after so many seconds.
std::optional<std::string> render_dot_within(std::string_view dot, std::string_view format, double seconds);

} // namespace chalkgrad
