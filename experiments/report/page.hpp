// The report of a run as one HTML page beside its pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/experiments/report/html.hpp>

namespace chalkgrad {

/// A page with a part for each section of the course and in it, for each experiment, its question, pictures, numbers
/// and verdicts, tables, code, and the derivations of the ops it calls. It holds everything it shows: no network, no
/// other file; links lead to the files beside it. Its only script typesets formulas; without KaTeX there is none, and
/// formulas stand as LaTeX. Equal findings give equal bytes.
std::string report_page(const std::vector<Finished>& finished, const std::optional<Katex>& katex);

} // namespace chalkgrad
