// What the tape relies on: an op is a function, its backward is linear, both only assign, and every kernel gives the
// same answer.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/single_op.hpp>
#include <chalkgrad/autograd/check/steps.hpp>
#include <chalkgrad/autograd/kernel/isa.hpp>

namespace chalkgrad {
namespace detail {
namespace {

bool same_bits(const double* a, const double* b, std::size_t n) { return std::memcmp(a, b, n * sizeof(double)) == 0; }

/// Every line of the program still holds what was recorded: ops gave the same numbers again, and wrote to nothing else.
void check_values(CheckedProgram& s, const char* when, Findings& found) {
    const TapeState& tape = *s.outputs.front().state();
    const std::size_t last = *std::max_element(s.output_lines.begin(), s.output_lines.end());
    for (Index i = 0; i <= last; ++i) {
        const Record& record = tape[i];
        if (same_bits(static_cast<const double*>(record.value), s.program.values(i), record.shape->size())) continue;
        if (record.op == nullptr)
            found.break_contract(
                fmt::format("{} changed in {}; an op must leave its inputs as they are", tape.label(i), when));
        else
            found.break_contract(
                fmt::format("{} holds other numbers after {}: it is not deterministic, or its memory was written to",
                    tape.label(i), when));
        return;
    }
}

/// A backward is repeatable to the last bit, linear in cotangents small and large, 0 for one of 0, and knows only its own forward.
void check_sweeps(CheckedProgram& s, Findings& found) {
    Generator rng = s.stream(1);
    Replay<double> elsewhere(s.outputs);
    for (const Var<double>& x : s.inputs)
        for (std::size_t j = 0; j < x.size(); ++j) elsewhere.values(x.line())[j] *= 1 + rng.uniform(0, 0x1p-10);
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Array<double> w = rng.standard_normal(s.outputs[y].shape());
        const auto gradients = [&](double factor) {
            Array<double> cotangent = w;
            for (double& number : cotangent) number *= factor;
            return gradients_of(s, s.program, y, cotangent);
        };
        const auto once = gradients(1), again = gradients(1), none = gradients(0);
        constexpr double factors[] = {
            2, -0x1p20, 0x1p-30}; // exact, so that only a limit or a threshold on cotangents shows
        const std::vector<double> scaled[] = {gradients(factors[0]), gradients(factors[1]), gradients(factors[2])};
        try {
            elsewhere.run();
        } catch (const std::exception&) { // an op refuses such numbers
        }
        const auto later = gradients(1);
        constexpr double subnormal = std::numeric_limits<double>::min(); // below it digits are lost
        double largest = 0;
        for (const double g : once)
            if (std::isfinite(g)) largest = std::max(largest, std::abs(g));
        for (std::size_t k = 0; k < once.size(); ++k) {
            if (!std::isfinite(once[k])) continue;
            bool linear = true;
            for (int f = 0; f < 3; ++f)
                linear =
                    linear && (!std::isfinite(scaled[f][k]) || std::abs(scaled[f][k] / factors[f] - once[k]) <=
                                                                   1e-12 * largest + subnormal / std::abs(factors[f]));
            const char* broken =
                once[k] != again[k] ? "gives another gradient when it runs again"
                : once[k] != later[k]
                    ? "gives another gradient after the program has run at another point: it keeps numbers of its "
                      "last forward outside the tape"
                : none[k] != 0 ? "gives a gradient for a cotangent of zero"
                : !linear      ? "is not linear in the cotangent"
                               : nullptr;
            if (broken == nullptr) continue;
            found.break_contract(fmt::format("the backward of {} {}", describe(s.outputs[y]), broken));
            break;
        }
    }
}

/// Forward and vjp fill all they are handed and never add: the tape's memory is not cleared, and adding up is its own
/// work.
void check_assignment(const CheckedProgram& s, Findings& found) {
    const TapeState& tape = *s.outputs.front().state();
    constexpr double stale = 1e300;
    for (const std::uint32_t line : s.lines) {
        const Record& record = tape[line];
        if (record.op->blocks_gradient() || record.op->conversion() != nullptr) continue;
        SingleOp<double> op(tape, record);
        const std::vector<double> clean = op.forward();
        if (const auto& y = op.forward(stale); !same_bits(clean.data(), y.data(), y.size()))
            found.break_contract(fmt::format(
                "{} does not fill its output, or adds to what was there; a forward must assign every element",
                tape.label(line)));
        Generator rng = s.stream(6, line);
        const Array<double> w = rng.standard_normal(*record.shape);
        const std::vector<double> gy(w.begin(), w.end());
        const Index* in = tape.inputs(record);
        for (std::size_t k = 0; k < record.input_count; ++k) {
            if (in[k] == absent || !tape[in[k]].has(Record::needs_grad)) continue;
            const std::vector<double> fresh = op.vjp(k, gy), over = op.vjp(k, gy, stale);
            if (same_bits(fresh.data(), over.data(), fresh.size())) continue;
            found.break_contract(
                fmt::format("{} does not fill the gradient of its input '{}', or adds to what was there; a vjp must "
                            "assign every element "
                            "(the tape adds up)",
                    tape.label(line), record.op->input_name(k)));
        }
    }
}

/// An operand's gradient does not depend on which others are wanted, nor on whether operands share one array.
void check_operands(const CheckedProgram& s, Findings& found) {
    const TapeState& tape = *s.outputs.front().state();
    for (const std::uint32_t line : s.lines) {
        const Record& record = tape[line];
        if (record.op->blocks_gradient() || record.op->conversion() != nullptr) continue;
        const Index* in = tape.inputs(record);
        std::vector<std::size_t> wanted;
        for (std::size_t k = 0; k < record.input_count; ++k)
            if (in[k] != absent && tape[in[k]].has(Record::needs_grad)) wanted.push_back(k);
        if (wanted.size() < 2) continue;
        Generator rng = s.stream(10, line);
        const Array<double> w = rng.standard_normal(*record.shape);
        const std::vector<double> gy(w.begin(), w.end());
        SingleOp<double> op(tape, record);
        op.forward();
        std::vector<double> singly;
        for (const std::size_t k : wanted) {
            const std::vector<double> g = op.vjp(k, gy);
            singly.insert(singly.end(), g.begin(), g.end());
        }
        const auto differ = [](const std::vector<double>& a, const std::vector<double>& b) {
            double size = 0, gap = 0;
            for (std::size_t i = 0; i < a.size(); ++i)
                if (std::isfinite(a[i])) {
                    size = std::max(size, std::abs(a[i]));
                    gap = std::max(gap, std::isfinite(b[i]) ? std::abs(a[i] - b[i]) : HUGE_VAL);
                }
            return gap > 1e-12 * size;
        };
        if (differ(op.vjp_all(wanted, gy), singly))
            found.break_contract(
                fmt::format("{} gives another gradient when not all its inputs want one", tape.label(line)));
        const std::size_t j = wanted[0], k = wanted[1];
        if (!(*tape[in[j]].shape == *tape[in[k]].shape)) continue;
        SingleOp<double> copied(tape, record), shared(tape, record);
        copied.repeat(j, k, false);
        shared.repeat(j, k, true);
        try {
            copied.forward();
        } catch (const std::exception&) {
            continue; // the op refuses two equal inputs
        }
        shared.forward();
        if (differ(copied.vjp_all(wanted, gy), shared.vjp_all(wanted, gy)))
            found.break_contract(
                fmt::format("{} gives another gradient when its inputs '{}' and '{}' are one and the same",
                    tape.label(line), record.op->input_name(j), record.op->input_name(k)));
    }
}

// ---- the same answer from other kernels

/// Outputs and gradients of ⟨w, y⟩, one behind the other.
template <class U>
std::vector<double> answers(CheckedProgram& s, Replay<U>& program, const std::vector<Array<double>>& w) {
    std::vector<double> all;
    for (const std::size_t line : s.output_lines)
        std::transform(program.values(line), program.values(line) + program.size(line), std::back_inserter(all),
            [](U v) { return static_cast<double>(v); });
    for (std::size_t y = 0; y < s.outputs.size(); ++y)
        for (const U g : gradients_of(s, program, y, w[y])) all.push_back(static_cast<double>(g));
    return all;
}

/// One of the arrays that answers() joins, and what rounding inside the ops may change there.
struct Part {
    std::string name;
    std::size_t size;
    double loss;
};
std::vector<Part> parts(const CheckedProgram& s, double epsilon) {
    std::vector<Part> all;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        // A value weighs up to the size of x / length, and rounded as often.
        double ratio = 1;
        for (std::size_t x = 0; x < s.inputs.size(); ++x)
            ratio = std::max(ratio, CheckedProgram::size_of(s.inputs[x]) / s.shortest(x));
        const double loss = 100 * epsilon * ratio * std::max(1.0, CheckedProgram::size_of(s.outputs[y]));
        all.push_back({"output " + describe(s.outputs[y]), s.outputs[y].size(), loss});
    }
    for (std::size_t y = 0; y < s.outputs.size(); ++y)
        for (std::size_t x = 0; x < s.inputs.size(); ++x)
            all.push_back({"the gradient of " + describe(s.inputs[x]), s.inputs[x].size(), s.loss(y, x, epsilon)});
    return all;
}

/// Compares two answers, part by part; `allowed` is what rounding of the inputs changes. The first difference in words,
/// or nothing.
std::string disagreement(const CheckedProgram& s, const std::vector<double>& mine, const std::vector<double>& theirs,
    const std::vector<double>& allowed, double epsilon) {
    std::size_t at = 0;
    for (const Part& part : parts(s, epsilon)) {
        double scale = 0, slack = 0;
        for (std::size_t i = at; i < at + part.size; ++i) {
            if (std::isfinite(mine[i])) scale = std::max(scale, std::abs(mine[i]));
            if (std::isfinite(allowed[i])) slack = std::max(slack, allowed[i]);
        }
        for (std::size_t i = at; i < at + part.size; ++i)
            if (std::isfinite(mine[i]) && std::isfinite(theirs[i]) &&
                std::abs(mine[i] - theirs[i]) > 100 * epsilon * scale + 20 * slack + part.loss)
                return fmt::format("{} is {:.16g} there, {:.16g} here", part.name, theirs[i], mine[i]);
        at += part.size;
    }
    return {};
}

/// How far answers move when inputs change by a few units of epsilon; `possible` turns false where that crosses a kink.
std::vector<double> movement(CheckedProgram& s, const std::vector<double>& here, const std::vector<Array<double>>& w,
    double epsilon, bool& possible) {
    std::vector<double> most(here.size(), 0);
    for (std::uint64_t which = 3; which < 6 && possible; ++which)
        possible = s.at_perturbed_inputs(which, 4 * epsilon, [&] {
            const std::vector<double> there = answers(s, s.program, w);
            for (std::size_t i = 0; i < here.size(); ++i) most[i] = std::max(most[i], std::abs(there[i] - here[i]));
        });
    return most;
}

template <class U> void compare_scalar(CheckedProgram& s, const std::vector<Array<double>>& w, Findings& found) {
    std::string why;
    if (!Replay<U>::possible(s.outputs, &why)) return;
    Replay<U> program(s.outputs);
    // At numbers that U has: only what happens inside the ops is compared.
    for (const Var<double>& x : s.inputs)
        for (std::size_t j = 0; j < x.size(); ++j)
            s.program.values(x.line())[j] = static_cast<double>(static_cast<U>(x.data()[j]));
    s.program.run();
    const std::vector<double> mine = answers(s, s.program, w), theirs = answers(s, program, w);
    s.restore();
    constexpr double epsilon =
        std::max<double>(std::numeric_limits<U>::epsilon(), std::numeric_limits<double>::epsilon());
    if (disagreement(s, mine, theirs, std::vector<double>(mine.size(), 0), epsilon).empty()) return;
    bool possible = true;
    const std::vector<double> moves = movement(s, answers(s, s.program, w), w, epsilon, possible);
    if (!possible) return;
    const std::string broken = disagreement(s, mine, theirs, moves, epsilon);
    if (!broken.empty())
        found.break_contract(fmt::format("the {} kernels give another answer: {}", name(dtype_of<U>), broken));
}

std::vector<Array<double>> draw_cotangents(const CheckedProgram& s) {
    Generator rng = s.stream(7);
    std::vector<Array<double>> w;
    for (const Var<double>& y : s.outputs) w.push_back(rng.standard_normal(y.shape()));
    return w;
}

} // namespace

Findings check_contract(CheckedProgram& s) {
    Findings found;
    s.restore();
    check_values(s, "a second run", found);
    check_sweeps(s, found);
    if (!found.contract_broken) check_values(s, "a backward", found);
    check_assignment(s, found);
    check_operands(s, found);
    const std::vector<Array<double>> w = draw_cotangents(s);
    compare_scalar<long double>(s, w, found);
    // Beyond this, float has no digits left for what a softmax does with its logits.
    constexpr double reach_of_float = 100;
    if (std::all_of(s.inputs.begin(), s.inputs.end(),
            [](const Var<double>& x) { return CheckedProgram::size_of(x) <= reach_of_float; }))
        compare_scalar<float>(s, w, found);
    if (!s.options.both_isas) return found;
    const std::string broken = compare_instruction_sets(s.outputs, s.inputs, s.options.seed);
    if (!broken.empty()) found.break_contract(broken);
    return found;
}

} // namespace detail

std::string compare_instruction_sets(
    const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs, std::uint64_t seed) {
    GradcheckOptions options;
    options.seed = seed;
    detail::CheckedProgram s(outputs, inputs, options);
    const std::vector<Array<double>> w = detail::draw_cotangents(s);
    const Isa before = isa();
    std::vector<double> found[2];
    bool both = true;
    for (const Isa set : {Isa::base, Isa::avx2}) {
        both = both && set_isa(set);
        if (!both) break;
        s.restore();
        found[set == Isa::avx2] = detail::answers(s, s.program, w);
    }
    set_isa(before);
    if (!both) return {};
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    if (detail::disagreement(s, found[1], found[0], std::vector<double>(found[0].size(), 0), epsilon).empty())
        return {};
    s.restore();
    bool possible = true;
    const std::vector<double> moves = detail::movement(s, detail::answers(s, s.program, w), w, epsilon, possible);
    const std::string broken = possible ? detail::disagreement(s, found[1], found[0], moves, epsilon) : std::string();
    return broken.empty() ? broken
                          : "the kernels of the base instruction set give another answer than those of AVX2: " + broken;
}

} // namespace chalkgrad
