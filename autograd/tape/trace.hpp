// A sweep written down step by step, for tables and pages that show how gradients come to be.
#pragma once

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

/// How many numbers a line's forward saves for its backward, on a tape of shapes too.
std::size_t saved_size(const Tape& tape, std::size_t line);
/// The numbers a line's forward saved for its backward; none for a leaf. Throws Error on a shape-only tape.
std::vector<double> saved_of(const Tape& tape, std::size_t line);

/// Lets every intermediate that has a gradient keep it in the sweeps that follow, as Var::keep_grad() does for one.
void keep_all_gradients(const Tape& tape);

} // namespace chalkgrad
