// Replay: copying a program into another scalar, and running parts of it again.
#include <chalkgrad/autograd/tape/replay.hpp>

#include <algorithm>

#include <chalkgrad/autograd/tape/single_op.hpp>
#include <chalkgrad/autograd/tape/sweep.hpp>

namespace chalkgrad {

using detail::Index;
using detail::Record;
using detail::TapeState;

namespace {

Index last_line(const std::vector<Var<double>>& outputs) {
    if (outputs.empty()) throw Error("replay: no output was given");
    Index last = 0;
    for (const Var<double>& y : outputs) {
        last = std::max(last, y.checked("replay"));
        if (y.state() != outputs.front().state())
            throw Error("replay: the outputs are on two tapes; record them on one");
    }
    return last;
}

} // namespace

template <class U> bool Replay<U>::possible(const std::vector<Var<double>>& outputs, std::string* why) {
    const Index last = last_line(outputs);
    const TapeState& source = *outputs.front().state();
    const auto refuse = [&](const std::string& reason) {
        if (why != nullptr) *why = reason;
        return false;
    };
    if (source.shapes_only) return refuse("the tape is shape-only; record on Tape() instead");
    for (Index i = 0; i <= last; ++i) {
        const Record& record = source[i];
        if (record.dtype != Dtype::f64)
            return refuse(source.label(i) + " is of type " + name(record.dtype) + "; check the function in double");
        if (record.op != nullptr && !record.op->runs_in(dtype_of<U>))
            return refuse(source.label(i) + " runs in double only; lambdas over const auto& run in every scalar");
    }
    return true;
}

template <class U>
Replay<U>::Replay(const std::vector<Var<double>>& outputs, const std::vector<std::uint32_t>& leaves) {
    std::string why;
    if (!possible(outputs, &why)) throw Error("replay: " + why);
    const Index last = last_line(outputs);
    source_ = outputs.front().state_ref();
    state_ = detail::StateRef(new TapeState(false, nullptr));
    for (Index i = 0; i <= last; ++i)
        state_->add_copy(*source_, i, true, dtype_of<U>, source_->inputs((*source_)[i]),
            std::binary_search(leaves.begin(), leaves.end(), i));
    for (const Var<double>& y : outputs) outputs_.push_back(y.checked("replay"));
}

template <class U> std::vector<std::uint32_t> Replay<U>::dependents(std::size_t x) const {
    TapeState& tape = *state_;
    std::vector<char> reached(tape.size(), 0), leads(tape.size(), 0);
    reached[x] = 1;
    for (const std::uint32_t y : outputs_) leads[y] = 1;
    for (Index i = 0; i < tape.size(); ++i) {
        const Record& record = tape[i];
        if (record.op == nullptr || !record.has(Record::needs_grad)) continue;
        const Index* in = tape.inputs(record);
        for (std::size_t k = 0; k < record.input_count; ++k) reached[i] |= in[k] != detail::absent && reached[in[k]];
    }
    for (Index i = tape.size(); i-- > 0;) {
        if (!leads[i]) continue;
        const Record& record = tape[i];
        const Index* in = tape.inputs(record);
        for (std::size_t k = 0; k < record.input_count; ++k)
            if (in[k] != detail::absent) leads[in[k]] = 1;
    }
    std::vector<std::uint32_t> lines;
    for (Index i = 0; i < tape.size(); ++i)
        if (reached[i] && leads[i] && tape[i].op != nullptr) lines.push_back(i);
    return lines;
}

template <class U> void Replay<U>::run(const std::vector<std::uint32_t>& lines) {
    for (const std::uint32_t i : lines) state_->run_forward(i);
}

template <class U> void Replay<U>::run() {
    for (Index i = 0; i < state_->size(); ++i)
        if ((*state_)[i].op != nullptr && (*state_)[i].has(Record::needs_grad)) state_->run_forward(i);
}

template <class U> void Replay<U>::backward(std::size_t line, const U* cotangent) {
    for (const Index i : state_->variables)
        if ((*state_)[i].grad != nullptr) state_->free_grad((*state_)[i]);
    if ((*state_)[index(line)].has(Record::needs_grad)) detail::sweep_backward(*state_, index(line), cotangent);
}

template <class U> KinkSides Replay<U>::kinks(const std::vector<std::uint32_t>& lines) const {
    KinkSides result;
    if constexpr (std::is_same_v<U, double> || std::is_same_v<U, long double>)
        for (const std::uint32_t i : lines) {
            const Record& record = (*state_)[i];
            if (!record.op->has_kinks()) continue;
            const std::vector<In<U>> ins = detail::inputs_of<U>(*state_, record);
            record.op->kinks(Ins<U>{ins.data(), ins.size()}, result);
        }
    return result;
}

template class Replay<float>;
template class Replay<double>;
template class Replay<long double>;
template class Replay<Dual<double>>;

} // namespace chalkgrad
