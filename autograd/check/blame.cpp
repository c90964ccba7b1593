// Blame: gradcheck of every op by itself, one operand at a time.
#include <chalkgrad/autograd/check/blame.hpp>

#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad {
namespace {

struct CauseInWords {
    Cause cause;
    std::string_view name;
    const char* says;
};
constexpr CauseInWords causes[] = {{Cause::unknown, "unknown", ""},
    {Cause::contract, "contract", "its backward is no linear function of the cotangent alone"},
    {Cause::not_finite, "not_finite",
        "the gradient is not finite where the slope is: a division by zero, a root or a logarithm"},
    {Cause::never_written, "never_written", "the gradient is zero: it was never written"},
    {Cause::sign, "sign", "the sign is wrong"}, {Cause::factor, "factor", "off by a constant factor"},
    {Cause::transposed, "transposed", "the Jacobian is transposed: the forward map where its transpose should be"},
    {Cause::misplaced, "misplaced",
        "gradients arrive at the wrong elements: an axis, a stride, an order, or the other branch"},
    {Cause::not_summed, "not_summed",
        "contributions are missing: overwritten where they should be added up, or not summed over the broadcast axis"},
    {Cause::gain, "gain",
        "each output's gradient, or each input's, has a factor of its own: a gain or a slope is missing or applied "
        "twice"},
    {Cause::slopes, "slopes",
        "single elements have wrong slopes: look at the formula of the derivative, its powers and constants"},
    {Cause::along_x, "along_x", "a term along x is missing or has a wrong weight: the statistic depends on x too"},
    {Cause::along_centred_x, "along_centred_x",
        "a term along x - mean(x) is missing or has a wrong weight: the variance depends on x too"},
    {Cause::statistic, "statistic",
        "each row misses a multiple of itself and of x: the statistic is another one, by its mean, its root or its "
        "epsilon"},
    {Cause::mean_of_cotangent, "mean_of_cotangent",
        "a constant is missing in every row: the mean of the cotangent, or of x, was not subtracted"},
    {Cause::rank_one, "rank_one",
        "a rank-1 term is missing or has a wrong weight: the sum over the row that every element shares"},
    {Cause::epsilon, "epsilon",
        "wrong where the numbers are small, right elsewhere: epsilon was dropped in the backward"},
    {Cause::small_term, "small_term", "a small term is missing: an approximation of the slope, or a sum cut short"},
    {Cause::branch, "branch",
        "right for some rows, wrong for others: a branch of the forward, such as a floor, was not followed"},
    {Cause::should_be_zero, "should_be_zero",
        "some gradients should be exactly zero: a mask or a clamp was forgotten, or a reduction runs over the wrong "
        "axis"},
    {Cause::zeroed, "zeroed",
        "some gradients are zero that should not be: a branch closed too much, or a path of dependence left out"},
    {Cause::some_elements, "some_elements",
        "a few elements are wrong and all others right: the term of a special element is missing"}};

WrongJacobian dense(const detail::CheckedProgram& s, const detail::Block& block) {
    const Var<double>& x = s.inputs.front();
    const std::vector<double> zeros(block.rows * block.columns, 0.);
    WrongJacobian jacobian{block.rows, block.columns, zeros, zeros, zeros, {x.data(), x.data() + x.size()},
        x.shape().rank() == 0 ? 1 : x.shape().last()};
    block.each([&](std::size_t i, std::size_t j, std::size_t k) {
        const std::size_t at = i * block.columns + j;
        jacobian.analytic[at] = block.analytic[k];
        const double numeric = std::isfinite(block.numeric[k]) ? block.numeric[k] : block.analytic[k]; // not resolved
        jacobian.right[at] = s.has_dual ? block.dual[k] : numeric;
        if (!s.has_dual)
            jacobian.noise[at] = !std::isfinite(block.error[k]) ? 0
                                 : block.off.empty()            ? block.slack(i, k)
                                                                : 10 * block.error[k];
    });
    return jacobian;
}

/// The likely cause, and its hint.
std::pair<Cause, std::string> cause_of(
    const detail::CheckedProgram& s, const detail::Jacobians& jacobians, const detail::Findings& found) {
    if (found.contract_broken) return {Cause::contract, found.report.why};
    if (jacobians.blocks.empty()) return {Cause::unknown, ""};
    const auto [cause, factor] = likely_cause(dense(s, jacobians.blocks.front()));
    if (cause != Cause::factor) return {cause, describe(cause)};
    const double beyond = std::abs(factor - 1);
    return {cause, fmt::format("{} {}", describe(cause),
                       beyond < 1e-4 ? fmt::format("1 {} {:.2g}", factor < 1 ? '-' : '+', beyond)
                                     : fmt::format("{:.6g}", factor))};
}

} // namespace

const char* describe(Cause cause) {
    return std::find_if(std::begin(causes), std::end(causes), [&](const auto& one) {
        return one.cause == cause;
    })->says;
}

Cause cause_named(std::string_view name) {
    for (const CauseInWords& one : causes)
        if (one.name == name) return one.cause;
    throw Error(fmt::format("'{}' is no cause", name));
}

std::vector<Blame> blame(const Var<double>& y, std::uint64_t seed) {
    const detail::Index last = y.checked("blame");
    const detail::TapeState& tape = *y.state();
    if (tape.shapes_only) throw Error("blame: " + tape.label(last) + " has no numbers: its tape is shape-only");
    GradcheckOptions options;
    options.seed = seed;
    options.coverage = Coverage::projected;
    std::vector<Blame> found;
    for (detail::Index i = 0; i <= last; ++i) {
        const detail::Record& record = tape[i];
        if (record.op == nullptr || record.dtype != Dtype::f64 || record.op->changes_dtype() ||
            !record.has(detail::Record::needs_grad))
            continue;
        for (const std::size_t k : detail::wanted_operands(tape, record)) {
            const detail::ProgramCopy alone = detail::op_alone(tape, record, {k});
            detail::CheckedProgram program(alone.outputs, alone.inputs, options);
            program.finds_structure = false;
            detail::Jacobians jacobians;
            const detail::Findings findings = detail::check_backward(program, jacobians);
            const GradcheckReport report = detail::verdict_of(program, findings);
            if (report.verdict != Verdict::fail) continue;
            const auto [cause, hint] = cause_of(program, jacobians, findings);
            const detail::Index operand = tape.inputs(record)[k];
            found.push_back({i, record.op->name(), tape.scope_path(record.scope), record.op->input_name(k),
                tape[operand].has(detail::Record::named) ? tape.names.at(operand) : std::string(),
                std::max({report.difference, report.transpose, report.worst.relative_error}), cause, hint});
        }
    }
    return found;
}

} // namespace chalkgrad
