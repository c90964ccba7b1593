// gradcheck: the order of the steps.
#include <chalkgrad/autograd/check/gradcheck.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/check_state.hpp>

namespace chalkgrad {
namespace detail {
namespace {

constexpr std::size_t largest_automatic = 4'000'000, largest_full = 40'000'000; // elements of a Jacobian

/// Names inputs and outputs without a single number; true where nothing else is left.
bool nothing_to_check(CheckState& s) {
    bool any_empty = false;
    std::size_t left[2] = {};
    for (const auto* vars : {&s.inputs, &s.outputs})
        for (const Var<double>& v : *vars) {
            left[vars == &s.outputs] += v.size() > 0;
            if (v.size() > 0) continue;
            any_empty = true;
            s.say(fmt::format(
                "{} of shape {} has no numbers: there is nothing to check", describe(v), to_string(v.shape())));
        }
    if (any_empty) s.report.verdict = Verdict::inconclusive;
    return left[0] == 0 || left[1] == 0;
}

/// The whole Jacobian.
void check_in_full(CheckState& s) {
    const auto fill = [&](const std::vector<std::vector<Span>>& structure) {
        s.allocate_blocks(structure);
        fill_backward(s, &Block::analytic);
        if (s.has_dual) fill_dual(s);
        fill_differences(s);
    };
    const GradcheckReport before = s.report;
    fill(find_structure(s));
    if (s.sparsity_violated) {
        s.report = before;
        fill(std::vector<std::vector<Span>>(s.inputs.size()));
    }
    measure_rounding(s);
    if (s.has_dual) check_transpose(s);
    check_identities(s);
}

void run(CheckState& s) {
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
    return *std::max_element(
        outputs.begin(), outputs.end(), [](const Var<double>& a, const Var<double>& b) { return a.line() < b.line(); });
}

} // namespace
} // namespace detail

GradcheckReport gradcheck(
    const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs, const GradcheckOptions& options) {
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

    detail::CheckState subject(outputs, inputs, options);
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

} // namespace chalkgrad
