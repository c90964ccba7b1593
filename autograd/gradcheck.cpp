// gradcheck: the order of the steps, and the verdict.
#include <chalkgrad/autograd/gradcheck.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/check_subject.hpp>

namespace chalkgrad {
namespace detail {
namespace {

constexpr std::size_t largest_automatic = 4'000'000, largest_full = 40'000'000;  // elements of a Jacobian

/// An output element of −inf with a gradient of exactly 0: a masked logarithm, which has no slope to compare.
bool masked(const Subject& s, const Block& b, std::size_t row) {
    const double* analytic = b.at(b.analytic, row);
    return s.outputs[b.output].data()[row] == -HUGE_VAL &&
           std::all_of(analytic, analytic + b.columns, [](double a) { return a == 0; });
}

double worse(double a, double b) { return std::isnan(b) || b > a ? b : a; }

void note_worst(Subject& s, const Block& b, std::size_t k, double relative) {
    const Var<double>&y = s.outputs[b.output], &x = s.inputs[b.input];
    const Record& record = (*y.state())[static_cast<Index>(y.line())];
    s.report.worst = {record.op != nullptr ? record.op->name() : "leaf",
                      describe(y),
                      describe(x),
                      multi_index(k / b.columns, y.shape()),
                      multi_index(k % b.columns, x.shape()),
                      b.analytic[k],
                      b.numeric[k],
                      relative,
                      s.options.tolerance};
}

/// What the elements of one block add to the report; `unresolved` and `unfinite` turn true where they decide nothing.
void judge_block(Subject& s, const Block& b, double& worst_excess, bool& unresolved, bool& unfinite) {
    GradcheckReport& report = s.report;
    std::vector<char> row_is_masked(b.rows);
    for (std::size_t i = 0; i < b.rows; ++i) row_is_masked[i] = masked(s, b, i);
    const auto each_smooth = [&](auto f) {
        for (std::size_t i = 0; i < b.rows; ++i)
            for (std::size_t j = 0; j < b.columns && !row_is_masked[i]; ++j)
                if (!b.on_kink[j]) f(i * b.columns + j);
    };
    double scale = 0, exact_scale = 0;
    each_smooth([&](std::size_t k) {
        if (std::isfinite(b.numeric[k])) scale = std::max(scale, std::abs(b.numeric[k]));
        if (s.has_dual) exact_scale = std::max(exact_scale, std::abs(b.dual[k]));
    });
    report.elements += b.rows * b.columns;
    each_smooth([&](std::size_t k) {
        const bool empty =
            b.analytic[k] == 0 && b.numeric[k] == 0 && b.error[k] == 0 && (!s.has_dual || b.dual[k] == 0);
        if (empty && worst_excess >= 0) return;  // most of a large Jacobian
        const double a = b.analytic[k], n = b.numeric[k], difference = std::abs(a - n);
        if (exact_scale > 0) report.dual = worse(report.dual, std::abs(a - b.dual[k]) / exact_scale);
        if (!std::isfinite(a) || !std::isfinite(n)) {
            unfinite = true;
            if (std::isfinite(n) && b.error[k] <= s.options.tolerance * scale) {  // a smooth point with a wild gradient
                ++report.failed;
                worst_excess = HUGE_VAL;
                note_worst(s, b, k, HUGE_VAL);
            }
            return;
        }
        const double relative = difference == 0 ? 0 : difference / std::max(scale, std::numeric_limits<double>::min());
        const double resolution = scale > 0 ? b.error[k] / scale : 0;
        report.resolution = std::max(report.resolution, resolution);
        const bool within = difference <= s.options.tolerance * scale;
        const bool decided = difference > s.options.tolerance * scale + b.slack(k);
        if (decided) ++report.failed;
        if (!decided && (!within || resolution > s.options.tolerance)) unresolved |= scale > 0 || difference > 0;
        if (within || decided) report.difference = std::max(report.difference, relative);
        const double excess = decided ? 1 + relative : relative;
        if (excess > worst_excess) {
            worst_excess = excess;
            note_worst(s, b, k, relative);
        }
    });
}

/// The first number that is not finite, of the inputs or else of the outputs.
void name_unfinite(Subject& s) {
    for (const std::vector<Var<double>>* vars : {&s.inputs, &s.outputs})
        for (const Var<double>& x : *vars)
            for (std::size_t j = 0; j < x.size(); ++j)
                if (!std::isfinite(x.data()[j])) {
                    s.say(fmt::format("{}[{}] is {}", describe(x), fmt::join(multi_index(j, x.shape()), ", "), x.data()[j]));
                    return;
                }
}

/// Whether the outputs stay as they are to the last bit when the inputs move by less than single precision sees, and only then.
bool is_coarse(Subject& s) {
    const auto outputs_after = [&](double change) {
        std::vector<double> all;
        s.beside(12, change, [&] {
            for (std::size_t y = 0; y < s.outputs.size(); ++y)
                all.insert(all.end(), s.program.values(s.output_lines[y]), s.program.values(s.output_lines[y]) + s.outputs[y].size());
        });
        return all;
    };
    const std::vector<double> here = outputs_after(0);
    return here == outputs_after(1e-10) && here != outputs_after(1e-5);
}

}  // namespace

void judge(Subject& s) {
    GradcheckReport& report = s.report;
    bool unresolved = false, unfinite = false;
    double worst_excess = -1;
    for (const Block& b : s.blocks) judge_block(s, b, worst_excess, unresolved, unfinite);
    const bool broken = s.has_dual && !(report.transpose <= s.options.identity_tolerance);
    if (broken && std::isfinite(report.transpose))
        s.say(
            fmt::format("the backward is not the transpose of the forward's derivative: ⟨w, Jv⟩ and ⟨Jᵀw, v⟩ differ by "
                        "{:.2g} of Σ|terms|",
                        report.transpose));
    if (report.failed > 0 && !s.contract_broken && !s.has_dual && is_coarse(s)) {
        report.verdict = Verdict::inconclusive;
        s.say("the outputs do not move when the inputs move by 1e-10 of themselves: something in between computes in single precision, "
              "and differences tell nothing; compute in double");
    } else if (report.failed > 0 || s.contract_broken || (broken && std::isfinite(report.transpose))) {
        report.verdict = Verdict::fail;
    } else if (unfinite || broken) {
        report.verdict = Verdict::inconclusive;
        s.say("values or slopes at this point are not finite; choose another point");
        name_unfinite(s);
    } else if (unresolved) {
        report.verdict = Verdict::inconclusive;
        s.say(
            fmt::format("the differences resolve {:.2g} of a block, coarser than the tolerance {:.2g}; choose a point "
                        "where the output neither "
                        "saturates nor overflows",
                        report.resolution, s.options.tolerance));
    } else if (s.drowned) {
        report.verdict = Verdict::inconclusive;
        s.say(
            "what is left of the gradient at this point is no larger than its rounding errors; choose a point that "
            "does not saturate");
    } else if (!report.kinks.empty() && report.verdict == Verdict::pass) {
        report.verdict = Verdict::kink;
    }
}

namespace {

/// Names inputs and outputs without a single number; true where nothing else is left.
bool nothing_to_check(Subject& s) {
    bool any_empty = false;
    std::size_t left[2] = {};
    for (const auto* vars : {&s.inputs, &s.outputs})
        for (const Var<double>& v : *vars) {
            left[vars == &s.outputs] += v.size() > 0;
            if (v.size() > 0) continue;
            any_empty = true;
            s.say(fmt::format("{} of shape {} has no numbers: there is nothing to check", describe(v), to_string(v.shape())));
        }
    if (any_empty) s.report.verdict = Verdict::inconclusive;
    return left[0] == 0 || left[1] == 0;
}

/// The whole Jacobian.
void check_in_full(Subject& s) {
    s.allocate_blocks();
    fill_backward(s, &Block::analytic);
    if (s.has_dual) fill_dual(s);
    fill_differences(s);
    measure_rounding(s);
    if (s.has_dual) check_transpose(s);
    check_identities(s);
}

void run(Subject& s) {
    std::size_t columns = 0;
    for (const Var<double>& x : s.inputs) columns += x.size();
    const std::size_t elements = s.rows * columns;
    std::string why;
    s.has_dual = Replay<long double>::possible(s.outputs, &why) && !s.options.quick;
    if (!s.has_dual && !s.options.quick) s.say("differences in double, no dual numbers: " + why);

    const Coverage wanted = s.options.coverage;
    const bool projected = s.has_dual && (wanted == Coverage::projected ||
                                          (wanted == Coverage::automatic && elements > largest_automatic));
    if (projected && agrees_along_directions(s)) {
        s.say(fmt::format("{} elements were checked along random directions only", elements));
    } else if (projected && elements > largest_full) {
        s.break_contract(fmt::format(
            "random directions disagree; the Jacobian of {} elements is too large to look for the element", elements));
    } else {
        const Verdict verdict = s.report.verdict;
        const std::string said = s.report.why;
        s.report = {};
        s.report.verdict = verdict;
        s.report.why = said;
        check_in_full(s);
    }
    if (!s.options.quick) check_contract(s);
    if (s.has_dual) check_second_order(s);
    judge(s);
    look_for_blind_spots(s);
}

/// The output that comes last on the tape: all lines of the others stand before it.
const Var<double>& last_of(const std::vector<Var<double>>& outputs) {
    return *std::max_element(outputs.begin(), outputs.end(),
                             [](const Var<double>& a, const Var<double>& b) { return a.line() < b.line(); });
}

}  // namespace
}  // namespace detail

GradcheckReport gradcheck(const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs,
                          const GradcheckOptions& options) {
    if (outputs.empty()) throw Error("gradcheck: no output was given");
    if (inputs.empty()) throw Error("gradcheck: no input was given; pass the variables to differentiate by");
    for (const Var<double>& y : outputs) y.checked("gradcheck: an output that f returned");
    for (const Var<double>& x : inputs) {
        const detail::Index i = x.checked("gradcheck");
        if (x.state() != outputs.front().state())
            throw Error("gradcheck: input " + x.state()->label(i) + " is on another tape than the output");
        if (!(*x.state())[i].has(detail::Record::variable))
            throw Error("gradcheck: " + x.state()->label(i) + " is no variable; make it with tape.variable()");
        if (std::any_of(inputs.data(), &x, [&](const Var<double>& other) { return other.line() == x.line(); }))
            throw Error("gradcheck: input " + x.state()->label(i) + " is given twice; pass every variable once");
    }
    if (!(options.tolerance > 0) || !(options.identity_tolerance > 0))
        throw Error("gradcheck: tolerances must be positive");
    if (std::string why; !Replay<double>::possible(outputs, &why)) throw Error("gradcheck: " + why);

    detail::Subject subject(outputs, inputs, options);
    for (const Identity& known : options.identities)
        if (std::none_of(inputs.begin(), inputs.end(), [&](const Var<double>& x) { return x.name() == known.input; }))
            throw Error(
                fmt::format("gradcheck: the identity \"{}\" is about an input '{}', which is not among those checked",
                            known.says, known.input));
    bool ran = true;
    try {
        if (!detail::nothing_to_check(subject)) detail::run(subject);
    } catch (const std::exception& error) {
        ran = false;
        subject.report.verdict = Verdict::fail;
        subject.say(fmt::format("the program could not be run again, or backwards: {}", error.what()));
    }
    GradcheckReport& report = subject.report;
    if (report.verdict == Verdict::fail && ran)
        for (const Blame& b : blame(detail::last_of(outputs), options.seed)) {
            report.blame.push_back(b);
            subject.say(fmt::format("line {} ({}{}{}): the gradient of its input '{}' is wrong{}{}", b.line, b.op,
                                    b.scope.empty() ? "" : ", in ", b.scope, b.input, b.hint.empty() ? "" : ": ", b.hint));
        }
    return std::move(subject.report);
}

DirectionalSlope directional_slope(const Var<double>& y, const Var<double>& x, std::uint64_t seed) {
    DirectionalSlope slope;
    const Array<double> gradient = grad(y, std::vector<Var<double>>{x}).front();
    Generator rng{Seed(seed)};
    const Array<double> direction = rng.standard_normal(x.shape());
    std::vector<detail::Move> moves;
    for (std::size_t j = 0; j < x.size(); ++j) {
        slope.backward += gradient.data()[j] * direction.data()[j];
        moves.push_back({x.line(), j, direction.data()[j]});
    }
    Replay<long double> program({y});
    detail::Differences<long double> differences(program, {y.line()});
    slope.difference = differences.along(moves, program.dependents(x.line()), detail::lengths(x)).slope.front();
    slope.relative_error = std::abs(slope.backward - slope.difference) / std::abs(slope.difference);
    return slope;
}

}  // namespace chalkgrad
