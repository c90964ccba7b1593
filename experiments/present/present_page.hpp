// What `chalkgrad trace` and `chalkgrad present` show: a recorded computation, small enough to read; and the page of `present`:
// one HTML file that steps through its tape, forward and backward.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/autograd/tape/tape.hpp>
#include <chalkgrad/experiments/report/html.hpp>

namespace chalkgrad {

struct TracedComputation {
    std::string name, title;         ///< "pre", "h + F(N(h))"
    Var<double> y;                   ///< the output: the sweep begins here
    std::vector<std::size_t> inputs; ///< the lines that are data, not parameters; may be empty
    Array<double> cotangent;         ///< what the sweep begins with, of y's shape
};

/// The block, op or experiment of that name. A block is recorded with few tokens and features, an op with its first
/// sample, an experiment runs and shows the tape it gave its report. The numbers are drawn from `seed`, and the
/// cotangent too: with ones, many faults would not show. Throws Error that begins with `command` for an unknown name
/// and for an experiment without a tape.
TracedComputation find_subject(const std::string& command, const std::string& name, std::uint64_t seed);

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
