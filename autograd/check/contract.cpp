// What the tape relies on: an op is a function, its backward is linear, and both only assign.
#include <cstring>

#include <chalkgrad/autograd/check/steps.hpp>
#include <chalkgrad/autograd/tape/single_op.hpp>

namespace chalkgrad::detail {
namespace {

bool same_bits(const double* a, const double* b, std::size_t n) { return std::memcmp(a, b, n * sizeof(double)) == 0; }

/// Every line of the program still holds what was recorded: ops gave the same numbers again, and wrote to nothing else.
void check_values(CheckedProgram& s, const char* when, Findings& found) {
    const TapeState& tape = *s.outputs.front().state();
    const std::size_t last = *std::max_element(s.output_lines.begin(), s.output_lines.end());
    for (Index i = 0; i <= last; ++i) {
        const Record& record = tape[i];
        const double *before = static_cast<const double*>(record.value), *now = s.program.values(i);
        const std::size_t n = record.shape->size();
        if (same_bits(before, now, n)) continue;
        const std::size_t at = static_cast<std::size_t>(std::mismatch(before, before + n, now).first - before) % n;
        return found.break_contract(fmt::format("{} holds other numbers after {}, {:.17g} for {:.17g}: {}",
            tape.label(i), when, now[at], before[at],
            record.op == nullptr ? "an op must leave its inputs as they are"
                                 : "it is not deterministic, or its memory was written to"));
    }
}

/// The largest |a / factor − b| beyond rounding, where b is finite; only a limit or a threshold leaves one for a power of two.
double gap_between(const std::vector<double>& a, double factor, const std::vector<double>& b, double tolerance) {
    constexpr double subnormal = std::numeric_limits<double>::min(); // below it digits are lost
    double size = 0, gap = 0;
    for (const double v : b)
        if (std::isfinite(v)) size = std::max(size, std::abs(v));
    for (std::size_t k = 0; k < b.size(); ++k) {
        if (!std::isfinite(b[k]) || (factor != 1 && !std::isfinite(a[k]))) continue;
        const double here = std::abs(a[k] / factor - b[k]);
        if (!(here <= tolerance * size + (tolerance > 0 ? subnormal / std::abs(factor) : 0)))
            gap = std::max(gap, std::isfinite(here) ? here : HUGE_VAL);
    }
    return gap;
}

/// A backward is repeatable to the last bit, 0 for a cotangent of 0, in proportion to small and large ones, and knows only its own
/// forward.
void check_sweeps(CheckedProgram& s, Findings& found) {
    Generator rng = s.stream(1);
    Replay<double> elsewhere(s.outputs);
    for (const Var<double>& x : s.inputs)
        for (std::size_t j = 0; j < x.size(); ++j) elsewhere.values(x.line())[j] *= 1 + rng.uniform(0, 0x1p-10);
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Array<double> w = rng.standard_normal(s.outputs[y].shape());
        const auto gradients = [&](double factor) { return gradients_of(s, s.program, y, Array<double>(w * factor)); };
        const std::vector<double> once = gradients(1);
        const auto refuse = [&](double gap, const char* how) {
            if (gap > 0)
                found.break_contract(
                    fmt::format("the backward of {} {}; it differs by {:.2g}", describe(s.outputs[y]), how, gap));
        };
        refuse(gap_between(gradients(1), 1, once, 0), "gives another gradient when it runs again");
        std::vector<double> none = gradients(0);
        for (std::size_t k = 0; k < none.size(); ++k)
            if (!std::isfinite(once[k])) none[k] = 0; // wrong, or overflown: the Jacobian tells
        refuse(
            gap_between(none, 1, std::vector<double>(none.size(), 0), 0), "gives a gradient for a cotangent of zero");
        for (const double factor : {2., -0x1p20, 0x1p-30})
            refuse(gap_between(gradients(factor), factor, once, 1e-12), "is not linear in the cotangent");
        try {
            elsewhere.run();
        } catch (const std::exception&) { // an op refuses such numbers
        }
        refuse(gap_between(gradients(1), 1, once, 0),
            "gives another gradient after the program has run at another point: it keeps numbers of its last forward "
            "outside the tape");
    }
}

/// Calls f for every op of the program by itself, with those of its operands that want a gradient and a random cotangent.
template <class F> void each_op(const CheckedProgram& s, F f) {
    const TapeState& tape = *s.outputs.front().state();
    for (const std::uint32_t line : s.lines) {
        const Record& record = tape[line];
        if (record.op->blocks_gradient() || record.op->changes_dtype()) continue;
        const Array<double> w = s.stream(6, line).standard_normal(*record.shape);
        f(tape, record, tape.label(line), wanted_operands(tape, record), std::vector<double>(w.begin(), w.end()));
    }
}

/// Forward and vjp fill all they are handed and never add: the tape's memory is not cleared, and adding up is its own
/// work.
void check_assignment(const CheckedProgram& s, Findings& found) {
    constexpr double stale = 1e300;
    each_op(s, [&](const TapeState& tape, const Record& record, const std::string& label,
                   const std::vector<std::size_t>& wanted, const std::vector<double>& gy) {
        SingleOp<double> op(tape, record);
        const std::vector<double> clean = op.forward();
        if (const auto& y = op.forward(stale); !same_bits(clean.data(), y.data(), y.size()))
            found.break_contract(fmt::format(
                "{} does not fill its output, or adds to what was there; a forward must assign every element", label));
        for (const std::size_t k : wanted) {
            const std::vector<double> fresh = op.vjp({k}, gy), over = op.vjp({k}, gy, stale);
            if (!same_bits(fresh.data(), over.data(), fresh.size()) && gap_between(op.vjp({k}, gy), 1, fresh, 0) == 0)
                found.break_contract(
                    fmt::format("{} does not fill the gradient of its input '{}', or adds to what was "
                                "there; a vjp must assign every element (the tape adds up)",
                        label, record.op->input_name(k)));
        }
    });
}

/// The elements of Jᵀw − Σ w_i J_i by input, one behind the other, beyond what rounding leaves; J from the given matrix, Jᵀw from a
/// sweep with all of w.
std::vector<double> not_additive(
    CheckedProgram& s, const Jacobians& jacobians, std::size_t y, const Array<double>& w, Matrix Block::*matrix) {
    const std::vector<double> whole = gradients_of(s, s.program, y, w);
    std::vector<double> gaps;
    double weight = 0;
    for (const double v : w) weight += std::abs(v);
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const Block& b = jacobians.block(y, x);
        std::vector<Gap<long double>> sums(b.columns);
        for (std::size_t j = 0; j < b.columns; ++j) sums[j].gap = -static_cast<long double>(whole[gaps.size() + j]);
        b.each([&](std::size_t i, std::size_t j, std::size_t k) { sums[j].add(w.data()[i] * (b.*matrix)[k]); });
        const double loss = weight * s.loss(y, x, std::numeric_limits<double>::epsilon());
        for (const Gap<long double>& sum : sums) {
            const double gap = static_cast<double>(sum.gap);
            gaps.push_back(std::isfinite(gap) && std::abs(gap) > 1e-12 * sum.terms + loss ? gap : 0);
        }
    }
    return gaps;
}

} // namespace

Findings check_contract(CheckedProgram& s) {
    Findings found;
    s.restore();
    check_values(s, "a second run", found);
    if (!found.contract_broken) check_assignment(s, found);
    if (!found.contract_broken) check_sweeps(s, found);
    if (!found.contract_broken) check_values(s, "a backward", found);
    return found;
}

std::size_t largest_of(const std::vector<double>& gaps) {
    const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
    return static_cast<std::size_t>(std::max_element(gaps.begin(), gaps.end(), smaller) - gaps.begin());
}

void drop_rounding(CheckedProgram& s, Jacobians& jacobians, std::vector<double>& gaps,
    const std::function<std::vector<double>()>& gaps_nearby) {
    for (Block& b : jacobians.blocks) b.nearby.assign(b.stored(), 0);
    for (std::uint64_t which = 0; which < 3; ++which)
        s.at_perturbed_inputs(which, a_few_units, [&] {
            fill_backward(s, jacobians, &Block::nearby);
            const std::vector<double> there = gaps_nearby();
            for (std::size_t k = 0; k < gaps.size(); ++k)
                if (30 * std::abs(there[k] - gaps[k]) > std::abs(gaps[k])) gaps[k] = 0;
        });
}

Findings check_additivity(CheckedProgram& s, Jacobians& jacobians) {
    Findings found;
    Generator rng = s.stream(10);
    for (std::size_t y = 0; y < s.outputs.size() && !jacobians.blocks.empty(); ++y) {
        const Array<double> w = draw_cotangent(s.outputs[y], rng);
        std::vector<double> gaps = not_additive(s, jacobians, y, w, &Block::analytic);
        const auto most = [&] { return std::abs(gaps[largest_of(gaps)]); };
        if (gaps.empty() || most() == 0) continue;
        drop_rounding(s, jacobians, gaps, [&] { return not_additive(s, jacobians, y, w, &Block::nearby); });
        if (most() == 0) continue;
        std::size_t x = 0, j = largest_of(gaps);
        for (; j >= s.inputs[x].size(); ++x) j -= s.inputs[x].size();
        found.break_contract(
            fmt::format("the backward of {} is not linear in the cotangent: the gradient of {}[{}] differs by {:.2g} "
                        "from the sum of what each element of a random cotangent gives alone",
                describe(s.outputs[y]), describe(s.inputs[x]), fmt::join(multi_index(j, s.inputs[x].shape()), ", "),
                most()));
    }
    return found;
}

Findings check_operands(CheckedProgram& s) {
    Findings found;
    each_op(s, [&](const TapeState& tape, const Record& record, const std::string& label,
                   const std::vector<std::size_t>& wanted, const std::vector<double>& gy) {
        if (wanted.size() < 2) return;
        const auto refuse = [&](const std::vector<double>& a, const std::vector<double>& b, const std::string& when) {
            if (const double gap = gap_between(a, 1, b, 1e-12); gap > 0)
                found.break_contract(
                    fmt::format("{} gives another gradient when {}; it differs by {:.2g}", label, when, gap));
        };
        SingleOp<double> op(tape, record);
        op.forward();
        std::vector<double> singly;
        for (const std::size_t k : wanted) {
            const std::vector<double> g = op.vjp({k}, gy);
            singly.insert(singly.end(), g.begin(), g.end());
        }
        refuse(singly, op.vjp(wanted, gy), "not all its inputs want one");
        const std::size_t j = wanted[0], k = wanted[1];
        const Index* in = tape.inputs(record);
        if (!(*tape[in[j]].shape == *tape[in[k]].shape)) return;
        SingleOp<double> copied(tape, record), shared(tape, record);
        copied.repeat(j, k, false);
        shared.repeat(j, k, true);
        try {
            copied.forward();
        } catch (const std::exception&) {
            return; // the op refuses two equal inputs
        }
        shared.forward();
        refuse(shared.vjp(wanted, gy), copied.vjp(wanted, gy),
            fmt::format(
                "its inputs '{}' and '{}' are one and the same", record.op->input_name(j), record.op->input_name(k)));
    });
    return found;
}

} // namespace chalkgrad::detail
