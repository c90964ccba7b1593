// Sweeps looked into: written down step by step, for tables and pages that show how gradients come to be, and searched for
// the first number that is not finite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// One step of a reverse sweep: the backward of one line has run.
struct SweepStep {
    struct Passed {
        std::size_t line;
        std::vector<double> gradient; ///< after this step; later steps may add to it
    };
    std::size_t line;
    std::vector<double> gradient; ///< of the line itself; complete
    std::vector<Passed> passed;   ///< the inputs that received something, each once, in the op's order
};

/// Does what y.backward(cotangent) does, and writes down each step, from y to the first line. Leaves make no step.
/// Throws what backward() throws.
std::vector<SweepStep> trace_backward(const Var<double>& y, const Array<double>& cotangent);

/// Where the first number that is not finite was met.
struct NonFinite {
    enum class Direction { forward, backward };
    Direction direction;
    std::size_t line;
    std::string label; ///< "line 7 (exp 'y', in block/attention)"
    std::vector<std::size_t> index;
    double value;
};
/// "forward: inf at [1, 2] of line 7 (exp, in block)".
std::string to_string(const NonFinite& found);

/// The earliest line whose value has a NaN or an infinity, if any.
std::optional<NonFinite> first_nonfinite(const Tape& tape);
/// The same up to y; then, if all values are finite, the first gradient that is not, in the order of the sweep from y with a
/// cotangent of ones. Kept gradients are not touched.
template <class T> std::optional<NonFinite> first_nonfinite(const Var<T>& y);

} // namespace chalkgrad
