// The report of a run as one HTML page beside its pictures.
#pragma once

#include <string>
#include <vector>

#include <chalkgrad/experiments/experiment.hpp>

namespace chalkgrad {

/// A page with, for each experiment, its question, its numbers and verdicts, its pictures and links to all its files.
/// It needs no network and no script, and names the files relative to its own folder. Equal findings give equal bytes.
std::string report_page(const std::vector<Finished>& finished);

}  // namespace chalkgrad
