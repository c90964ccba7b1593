// Pictures of graphs, drawn in memory by Graphviz's libraries.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chalkgrad {

/// Lays `dot` (one graph in the DOT language, UTF-8) out with Graphviz's `dot` and returns the bytes of the picture.
/// Formats: svg (text stays text), pdf, png, plain, json, dot. Nodes, edges and labels that name no font get
/// `picture_fonts`, a png without `dpi` 144 dots per inch. Equal input gives equal bytes.
/// Throws Error for an unknown format, for DOT that does not parse, for whatever Graphviz warns of, and when the
/// plugin that writes the format is not installed. May be called from several threads; they take turns.
std::string render_dot(std::string_view dot, std::string_view format);

/// The same in a process of its own that is stopped after so many seconds: nothing if the picture was not done by then.
std::optional<std::string> render_dot_within(std::string_view dot, std::string_view format, double seconds);

} // namespace chalkgrad
