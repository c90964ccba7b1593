// gradcheck: the order of the steps.
#include <chalkgrad/autograd/check/gradcheck.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad {
namespace detail {
namespace {

constexpr std::size_t largest_automatic = 4'000'000, largest_full = 40'000'000; // elements of a Jacobian

/// Names inputs and outputs without a single number.
Findings check_sizes(const CheckedProgram& s) {
    Findings found;
    for (const auto* vars : {&s.inputs, &s.outputs})
        for (const Var<double>& v : *vars) {
            if (v.size() > 0) continue;
            found.nothing_seen = true;
            found.say(fmt::format(
                "{} of shape {} has no numbers: there is nothing to check", describe(v), to_string(v.shape())));
        }
    return found;
}

/// Whether all these are without a single number.
bool all_empty(const std::vector<Var<double>>& vars) {
    return std::all_of(vars.begin(), vars.end(), [](const Var<double>& v) { return v.size() == 0; });
}

/// The whole Jacobian, sparse where its structure holds, and what must be true of it.
Measured check_in_full(CheckedProgram& s) {
    std::optional<Measured> measured = measure_jacobians(s, find_structure(s));
    if (!measured) measured = measure_jacobians(s, Structure(s.inputs.size()));
    measure_rounding(s, measured->jacobians);
    if (s.has_dual) measured->found += check_transpose(s, measured->jacobians);
    measured->found += check_identities(s, measured->jacobians);
    return std::move(*measured);
}

/// Random directions, the whole Jacobian, or one after the other.
Measured check_jacobians(CheckedProgram& s) {
    std::size_t columns = 0;
    for (const Var<double>& x : s.inputs) columns += x.size();
    const std::size_t elements = s.rows * columns;
    const Coverage wanted = s.options.coverage;
    if (!s.has_dual || wanted == Coverage::full || (wanted == Coverage::automatic && elements <= largest_automatic))
        return check_in_full(s);
    auto [found, agree] = check_along_directions(s);
    if (agree) found.say(fmt::format("{} elements were checked along random directions only", elements));
    else if (elements <= largest_full) return check_in_full(s);
    else
        found.break_contract(fmt::format(
            "random directions disagree; the Jacobian of {} elements is too large to look for the element", elements));
    return {{}, std::move(found)};
}

/// Everything but blame; `found` keeps what was found before an exception.
GradcheckReport check(CheckedProgram& s, Findings& found) {
    found += check_sizes(s);
    if (all_empty(s.inputs) || all_empty(s.outputs)) {
        found.report.verdict = Verdict::inconclusive;
        return found.report;
    }
    if (!s.has_dual && !s.options.quick) found.say("differences in double, no dual numbers: " + s.no_dual);
    const Measured measured = check_jacobians(s);
    found += measured.found;
    if (!s.options.quick) found += check_contract(s);
    if (s.has_dual) found += check_second_order(s);
    return with_blind_spots(s, measured.jacobians, verdict_of(s, measured.jacobians, found));
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

    detail::CheckedProgram program(outputs, inputs, options);
    for (const Identity& known : options.identities)
        if (std::none_of(inputs.begin(), inputs.end(), [&](const Var<double>& x) { return x.name() == known.input; }))
            throw Error(
                fmt::format("gradcheck: the identity \"{}\" is about an input '{}', which is not among those checked",
                    known.says, known.input));
    detail::Findings found;
    GradcheckReport report;
    try {
        report = detail::check(program, found);
    } catch (const std::exception& error) {
        found.report.verdict = Verdict::fail;
        found.say(fmt::format("the program could not be run again, or backwards: {}", error.what()));
        return std::move(found.report);
    }
    if (report.verdict == Verdict::fail)
        for (const Blame& b : blame(detail::last_of(outputs), options.seed)) {
            report.blame.push_back(b);
            detail::say(
                report, fmt::format("line {} ({}{}{}): the gradient of its input '{}' is wrong{}{}", b.line, b.op,
                            b.scope.empty() ? "" : ", in ", b.scope, b.input, b.hint.empty() ? "" : ": ", b.hint));
        }
    return report;
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
