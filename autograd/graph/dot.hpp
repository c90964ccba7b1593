// Drawings in the DOT language: one look for every graph, so that they can be compared side by side.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/graph/drawing.hpp>

namespace chalkgrad {

struct DotOptions {
    enum class Theme { light, dark };
    Theme theme = Theme::light;
    bool legend = true;
};

/// Drawings beside each other. The residual stream is a heavy vertical line, adds are circles, norms have the one strong colour;
/// colours are Okabe and Ito's, told apart by every eye, and shapes and weights say the same in grey. Same drawings, same bytes,
/// on every machine. Names may hold anything; long ones are shortened, with the whole name as tooltip.
///
/// In an SVG made of it a box has its id: tape line 17 is the element with id="line-17", scope 3 as a box or frame id="scope-3",
/// line 17's operand 1, which is line 4, id="edge-4-17-1", its cotangent id="coedge-4-17-1". Of several drawings the k-th, from 0,
/// has ids that begin with "d<k>-".
std::string to_dot(const std::vector<Drawing>& drawings, const DotOptions& options = {});
/// Every line of a tape, without a legend.
std::string to_dot(const Graph& graph, const std::string& title = {});

/// Text as it must stand between the quotes of a DOT label: quotes, backslashes, `&`, line breaks and control characters escaped,
/// invalid UTF-8 replaced, and cut after `longest` characters with an ellipsis.
std::string dot_text(std::string_view text, std::size_t longest = 60);
/// The same for DOT's HTML-like labels.
std::string dot_html(std::string_view text, std::size_t longest = 60);

} // namespace chalkgrad
