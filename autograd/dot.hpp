// A graph in the DOT language: scopes as clusters, shapes on edges, the residual stream as one heavy vertical line.
#pragma once

#include <string>

#include <chalkgrad/autograd/graph.hpp>

namespace chalkgrad {

/// Same graph, same bytes, on every machine: ids are tape lines, nothing depends on addresses, time or locale. Names may
/// hold anything; long ones are shortened, with the whole name as tooltip. In an SVG made of it line 17 is the element
/// with id="line-17", its second operand, line 4, the one with id="edge-4-17-1", scope 3 the one with id="scope-3".
std::string to_dot(const Graph& graph, const std::string& title = {});

/// Text as it must stand between the quotes of a DOT label: quotes, backslashes, `&`, line breaks and control characters escaped,
/// invalid UTF-8 replaced, and cut after `longest` characters with an ellipsis.
std::string dot_text(std::string_view text, std::size_t longest = 60);

} // namespace chalkgrad
