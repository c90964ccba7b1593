// A sweep written down step by step.
#include <chalkgrad/autograd/tape/trace.hpp>

#include <algorithm>

#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/autograd/tape/sweep.hpp>

namespace chalkgrad {

using detail::Index;
using detail::Record;
using detail::TapeState;

std::vector<SweepStep> trace_backward(const Var<double>& y, const Array<double>& cotangent) {
    const Tape tape = y.tape();
    TapeState& state = *tape.state();
    const Shape given(cotangent.shape().begin(), cotangent.shape().end());
    if (tape.shapes_only() || !y.needs_grad() || given != y.shape()) y.backward(cotangent); // says what is wrong
    std::vector<SweepStep> steps;
    detail::sweep_backward(state, static_cast<Index>(y.line()), cotangent.data(), [&](Index i) {
        const Record& record = state[i];
        if (record.op == nullptr) return;
        SweepStep step{i, *gradient_of(tape, i), {}};
        const Index* in = state.inputs(record);
        for (std::size_t k = 0; k < record.input_count; ++k) {
            const bool again = std::find(in, in + k, in[k]) != in + k;
            if (in[k] == detail::absent || again || !state[in[k]].has(Record::needs_grad)) continue;
            if (auto gradient = gradient_of(tape, in[k])) step.passed.push_back({in[k], std::move(*gradient)});
        }
        steps.push_back(std::move(step));
    });
    return steps;
}

std::size_t saved_size(const Tape& tape, std::size_t line) {
    const TapeState& state = *tape.state();
    const Record& record = state[static_cast<Index>(line)];
    if (record.op == nullptr) return 0;
    std::vector<const Shape*> shapes;
    for (std::size_t k = 0; k < record.input_count; ++k) {
        const Index in = state.inputs(record)[k];
        shapes.push_back(in == detail::absent ? nullptr : state[in].shape);
    }
    return record.op->saved({shapes.data(), shapes.size()});
}

std::vector<double> saved_of(const Tape& tape, std::size_t line) {
    const std::size_t lines = tape.size();
    if (line >= lines)
        throw Error("saved_of: line " + std::to_string(line) + " of a tape of " + std::to_string(lines) + " lines");
    const TapeState& state = *tape.state();
    const Record& record = state[static_cast<Index>(line)];
    if (tape.shapes_only())
        throw Error("saved_of: " + state.label(static_cast<Index>(line)) + " has no numbers: its tape is shape-only");
    if (record.op == nullptr || record.saved == nullptr) return {};
    std::vector<double> numbers(saved_size(tape, line));
    detail::with_work_scalar(work_dtype(record.dtype), [&](auto scalar) {
        const auto* from = static_cast<const decltype(scalar)*>(record.saved);
        std::transform(from, from + numbers.size(), numbers.begin(), [](const auto& x) {
            if constexpr (std::is_same_v<decltype(scalar), Dual<double>>) return x.v;
            else return static_cast<double>(x);
        });
    });
    return numbers;
}

void keep_all_gradients(const Tape& tape) {
    for (std::size_t i = 0; i < tape.size(); ++i) {
        const Record& record = (*tape.state())[static_cast<Index>(i)];
        if (record.op != nullptr && record.has(Record::needs_grad)) line_at(tape, i).keep_grad(); // whatever its scalar
    }
}

} // namespace chalkgrad
