// Programs recorded anew: one op of a tape by itself, and a whole program at another point or with an op in the place of another.
#pragma once // internal

#include <functional>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad::detail {

struct ProgramCopy {
    Tape tape;
    std::vector<Var<double>> inputs, outputs;
};

/// The operands of an op that want a gradient.
std::vector<std::size_t> wanted_operands(const TapeState& tape, const Record& record);
/// One op, with the operands `wanted` as variables under the names that it gives them.
ProgramCopy op_alone(const TapeState& source, const Record& record, const std::vector<std::size_t>& wanted);
/// The same lines with the same names and scopes; the inputs at `point`, each op as `replace` has it.
ProgramCopy recorded_anew(const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs,
    const std::vector<Array<double>>& point, const std::function<const Op*(const Op*)>& replace);

} // namespace chalkgrad::detail
