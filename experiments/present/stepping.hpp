// A computation taken apart into steps, as JSON: what the page of `chalkgrad present` is made of.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/experiments/present/subject.hpp>

namespace chalkgrad {

/// {"name", "title", "output": line, "cotangent": NUMBERS, "lines": [..as to_json(tape) gives them, without gradients,
/// and "saved": NUMBERS..], "steps": [{"line", "passed": [{"line", "gradient": NUMBERS}]}] of the sweep, "gradients":
/// [{"line", "gradient": NUMBERS}] of the variables after y.backward(cotangent), "ops": {NAME: {"formula", "forward":
/// [TeX], "backward": [TeX], "derivation": Markdown}}}; NUMBERS as in tape_json.hpp. Gradients the tape held before are
/// forgotten. Throws Error when the steps do not end at backward()'s gradients, to the last bit.
nlohmann::json stepping_json(const TracedComputation& subject);

} // namespace chalkgrad
