// Recording anew: leaves are copied, ops serve the copy as they serve the original, which outlives it.
#include <chalkgrad/autograd/check/copies.hpp>

#include <algorithm>

#include <chalkgrad/autograd/tape/tape_state.hpp>

namespace chalkgrad::detail {
namespace {

Var<double> var_at(const Tape& tape, Index line) {
    return Var<double>(StateRef(tape.state()), line, (*tape.state())[line].epoch);
}
const double* numbers(const Record& record) { return static_cast<const double*>(record.value); }

} // namespace

std::vector<std::size_t> wanted_operands(const TapeState& tape, const Record& record) {
    std::vector<std::size_t> wanted;
    for (std::size_t k = 0; k < record.input_count; ++k)
        if (const Index in = tape.inputs(record)[k]; in != absent && tape[in].has(Record::needs_grad))
            wanted.push_back(k);
    return wanted;
}

ProgramCopy op_alone(const TapeState& source, const Record& record, const std::vector<std::size_t>& wanted) {
    ProgramCopy copy;
    std::vector<Index> lines(record.input_count, absent);
    for (std::size_t k = 0; k < record.input_count; ++k) {
        const Index in = source.inputs(record)[k];
        if (in == absent) continue;
        const bool is_wanted = std::find(wanted.begin(), wanted.end(), k) != wanted.end();
        const Var<double> x =
            copy.tape.leaf<double>(*source[in].shape, numbers(source[in]), is_wanted, record.op->input_name(k));
        lines[k] = static_cast<Index>(x.line());
        if (is_wanted) copy.inputs.push_back(x);
    }
    const Index y = copy.tape.state()->add_op(*record.op, true, Dtype::f64, lines.data(), lines.size());
    copy.outputs.push_back(var_at(copy.tape, y).named(record.op->name()));
    return copy;
}

ProgramCopy recorded_anew(const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs,
    const std::vector<Array<double>>& point, const std::function<const Op*(const Op*)>& replace) {
    const TapeState& source = *outputs.front().state();
    ProgramCopy copy;
    TapeState& state = *copy.tape.state();
    state.scopes = source.scopes;
    Index last = 0;
    for (const Var<double>& y : outputs) last = std::max(last, static_cast<Index>(y.line()));
    for (Index i = 0; i <= last; ++i) {
        const Record& record = source[i];
        state.scope = record.scope;
        const auto x = std::find_if(inputs.begin(), inputs.end(), [&](const Var<double>& v) { return v.line() == i; });
        if (record.op != nullptr)
            state.add_op(*replace(record.op), true, Dtype::f64, source.inputs(record), record.input_count);
        else
            copy.tape.leaf<double>(*record.shape,
                x == inputs.end() ? numbers(record) : point[static_cast<std::size_t>(x - inputs.begin())].data(),
                record.has(Record::variable));
        if (record.has(Record::named)) var_at(copy.tape, i).named(source.names.at(i));
    }
    for (const Var<double>& x : inputs) copy.inputs.push_back(var_at(copy.tape, static_cast<Index>(x.line())));
    for (const Var<double>& y : outputs) copy.outputs.push_back(var_at(copy.tape, static_cast<Index>(y.line())));
    return copy;
}

} // namespace chalkgrad::detail
