// A sweep written down step by step, and the first number that is not finite.
#include <chalkgrad/autograd/tape/trace.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/autograd/tape/sweep.hpp>

namespace chalkgrad {

using detail::Index;
using detail::Record;
using detail::TapeState;

std::vector<SweepStep> trace_backward(const Var<double>& y, const Array<double>& cotangent) {
    const Tape tape = y.tape();
    TapeState& state = *tape.state();
    const Shape given(cotangent.shape());
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

namespace {

std::optional<NonFinite> look(
    const Tape& tape, Index i, const std::vector<double>& numbers, NonFinite::Direction direction) {
    const auto bad = std::find_if(numbers.begin(), numbers.end(), [](double x) { return !std::isfinite(x); });
    if (bad == numbers.end()) return {};
    const auto place = static_cast<std::size_t>(bad - numbers.begin());
    return NonFinite{direction, i, tape.state()->label(i), multi_index(place, *(*tape.state())[i].shape), *bad};
}

std::optional<NonFinite> look_forward(const Tape& tape, std::size_t end) {
    if (tape.shapes_only()) throw Error("first_nonfinite: this tape is shape-only and has no numbers");
    for (std::size_t i = 0; i < end; ++i)
        if (auto found = look(tape, static_cast<Index>(i), values_of(tape, i), NonFinite::Direction::forward))
            return found;
    return {};
}

} // namespace

std::string to_string(const NonFinite& found) {
    return fmt::format("{}: {} at [{}] of {}",
        found.direction == NonFinite::Direction::forward ? "forward" : "backward", found.value,
        fmt::join(found.index, ", "), found.label);
}

std::optional<NonFinite> first_nonfinite(const Tape& tape) { return look_forward(tape, tape.size()); }

template <class T> std::optional<NonFinite> first_nonfinite(const Var<T>& y) {
    const Index i = y.checked("first_nonfinite");
    const Tape tape = y.tape();
    std::optional<NonFinite> found = look_forward(tape, i + 1);
    if (found || !y.needs_grad()) return found;
    const std::vector<work_t<T>> ones(y.size(), work_t<T>(1));
    detail::sweep_towards(
        *y.state(), i, ones.data(), y.state()->variables, [](std::size_t) {},
        [&](Index k) {
            if (!found) found = look(tape, k, *gradient_of(tape, k), NonFinite::Direction::backward);
        });
    return found;
}

#define CHALKGRAD_INSTANTIATE(T) template std::optional<NonFinite> first_nonfinite(const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

} // namespace chalkgrad
