// A tape as JSON: one object a line, with its numbers.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// [{"line", "kind": "constant|variable|op", "op", "name", "inputs": [..], "input_names", "shape", "dtype",
/// "attributes", "scope", "value": NUMBERS or null on a shape-only tape, "adjoint": NUMBERS or null where none was
/// computed}]; an optional input that was not given is −1.
nlohmann::json to_json(const Tape& tape);

/// NUMBERS: {"size", "min", "max", "rms", "not_finite", "numbers": [..]}; numbers in row-major order, left out above
/// 4096 of them.
nlohmann::json numbers_json(const std::vector<double>& numbers);

} // namespace chalkgrad
