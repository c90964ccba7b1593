// The page of `chalkgrad present`: one HTML file that steps through a tape, forward and backward.
#pragma once

#include <string>

#include <chalkgrad/experiments/present/subject.hpp>
#include <chalkgrad/experiments/report/katex.hpp>

namespace chalkgrad {

/// A page that holds everything it shows and asks nothing of a network: the graph, the tape, every value and gradient,
/// the formulas and the derivations of the ops. Without KaTeX formulas stand as TeX. Text of any kind stays text. Equal
/// subjects give equal bytes. Throws Error for a tape of over 600 lines.
std::string present_page(const TracedComputation& subject, const std::optional<Katex>& katex);

} // namespace chalkgrad
