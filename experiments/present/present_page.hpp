// The page of `chalkgrad present`: one HTML file that steps through a tape, forward and backward.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/experiments/present/subject.hpp>
#include <chalkgrad/experiments/report/html.hpp>

namespace chalkgrad {

/// A page that holds everything it shows and asks nothing of a network: the graph, the tape, every value and gradient,
/// the formulas and the derivations of the ops. Without KaTeX formulas stand as TeX. Text of any kind stays text. Equal
/// subjects give equal bytes. Throws Error for a tape of over 600 lines.
std::string present_page(const TracedComputation& subject, const std::optional<Katex>& katex);

/// What the page steps through: {"name", "title", "output": line, "cotangent": NUMBERS, "lines": [..as to_json(tape) gives
/// them, without gradients, and "saved": NUMBERS..], "steps": [{"line", "passed": [{"line", "gradient": NUMBERS}]}] of the
/// sweep, "gradients": [{"line", "gradient": NUMBERS}] of the variables after y.backward(cotangent), "ops": {NAME:
/// {"formula", "forward": [TeX], "backward": [TeX], "derivation": Markdown}}}; NUMBERS as in json.hpp. Gradients the tape
/// held before are forgotten. Throws Error when the steps do not end at backward()'s gradients, to the last bit.
nlohmann::json stepping_json(const TracedComputation& subject);

} // namespace chalkgrad
