// gradcheck: the order of the steps.
#include <chalkgrad/autograd/check/gradcheck.hpp>

#include <numeric>

#include <chalkgrad/autograd/check/steps.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>

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
Findings check_in_full(CheckedProgram& s, Jacobians& jacobians) {
    std::optional<Measured> measured;
    if (s.finds_structure) measured = measure_jacobians(s, find_structure(s));
    if (!measured) measured = measure_jacobians(s, Structure(s.inputs.size()));
    Findings found = s.options.quick ? Findings() : check_kinks(s, *measured);
    found += measured->found;
    jacobians = std::move(measured->jacobians);
    measure_rounding(s, jacobians);
    if (s.has_dual) found += check_transpose(s, jacobians);
    else if (!s.options.quick) find_repeated(s, jacobians);
    found += judge(s, jacobians);
    if (!found.failed()) found += check_identities(s, jacobians);
    return found;
}

/// What custom ops say of their own Jacobians must hold of each by itself.
Findings check_custom_identities(CheckedProgram& s) {
    Findings found;
    const TapeState& tape = *s.outputs.front().state();
    for (const std::uint32_t line : s.lines) {
        const Record& record = tape[line];
        const auto* const op = dynamic_cast<const CustomOp*>(record.op);
        if (op == nullptr || !op->options().identities) continue;
        std::vector<std::size_t> all(record.input_count);
        std::iota(all.begin(), all.end(), std::size_t(0));
        const ProgramCopy alone = op_alone(tape, record, all);
        CustomOptions::Inputs inputs;
        for (const Var<double>& x : alone.inputs) inputs.push_back(x.value());
        GradcheckOptions options = s.options;
        options.identities = op->options().identities(inputs);
        CheckedProgram program(alone.outputs, alone.inputs, options);
        Jacobians jacobians(program, Structure(all.size()));
        fill_backward(program, jacobians, &Block::analytic);
        found += check_identities(program, jacobians);
    }
    return found;
}

/// Everything but blame; `found` keeps what was found before an exception.
GradcheckReport check(CheckedProgram& s, Findings& found) {
    found += check_sizes(s);
    if (all_empty(s.inputs) || all_empty(s.outputs)) {
        found.report.verdict = Verdict::inconclusive;
        return found.report;
    }
    if (!s.has_dual && !s.options.quick) found.report.notes = "differences in double, no dual numbers: " + s.no_dual;
    Jacobians jacobians;
    found += check_backward(s, jacobians);
    if (!s.options.quick)
        for (const auto step :
            {check_custom_identities, check_operands, check_kernels, check_second_order, check_elsewhere})
            if (!found.failed() && (step != check_second_order || s.has_dual)) found += step(s);
    return with_blind_spots(s, jacobians, verdict_of(s, found));
}

/// The output that comes last on the tape: all lines of the others stand before it.
const Var<double>& last_of(const std::vector<Var<double>>& outputs) {
    return *std::max_element(
        outputs.begin(), outputs.end(), [](const Var<double>& a, const Var<double>& b) { return a.line() < b.line(); });
}

/// stop_gradient as differences see it; its backward is the same.
struct SeenThrough {
    static constexpr const char* name = "stop_gradient";
    static constexpr const char* inputs[] = {"x"};
    Shape shape(Shapes in) const { return in[0]; }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const { std::copy_n(in[0].data, y.size(), y.data); }
    template <class T> void vjp(Ins<T>, In<T>, In<T>, const T*, Outs<T> gx) const {
        std::fill_n(gx[0].data, gx[0].size(), T(0));
    }
};

/// The lines of report.blame in words. One that breaks the contract says what the whole program's sentence does, and where; unless that
/// is about another point.
void say_blame(GradcheckReport& report, bool elsewhere) {
    const auto breaks_contract = [](const Blame& b) { return b.cause == Cause::contract; };
    if (!elsewhere && std::any_of(report.blame.begin(), report.blame.end(), breaks_contract)) report.why.clear();
    for (const Blame& b : report.blame) {
        const std::string where =
            fmt::format("line {} ({}{}{}): ", b.line, b.op, b.scope.empty() ? "" : ", in ", b.scope);
        const std::string sentence =
            breaks_contract(b) ? b.hint
                               : fmt::format("the gradient of its input '{}'{} is wrong{}{}{}", b.input,
                                     b.variable.empty() || b.variable == b.input ? "" : " (" + b.variable + ")",
                                     elsewhere ? " there" : "", b.hint.empty() ? "" : ": ", b.hint);
        if (b.op != SeenThrough::name && report.why.find(where + sentence) == std::string::npos)
            say(report.why, where + sentence);
    }
}

/// The check itself, and the blame after a fail.
GradcheckReport check_and_blame(
    const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs, const GradcheckOptions& options) {
    Findings found;
    const auto refuse = [&](const std::exception& error) {
        found.report.verdict = Verdict::fail;
        found.say(fmt::format("the program could not be run again, or backwards: {}", error.what()));
        return found.report;
    };
    std::optional<CheckedProgram> program;
    try {
        program.emplace(outputs, inputs, options);
    } catch (const std::exception& error) { return refuse(error); }
    for (const Identity& known : options.identities) input_of(*program, known);
    GradcheckReport report;
    try {
        report = check(*program, found);
    } catch (const std::exception& error) { return refuse(error); }
    if (report.verdict == Verdict::fail) {
        const bool elsewhere = !found.elsewhere.empty();
        std::optional<ProgramCopy> there;
        if (elsewhere) there = recorded_anew(outputs, inputs, found.elsewhere, [](const Op* op) { return op; });
        report.blame = blame(last_of(elsewhere ? there->outputs : outputs), options.seed);
        say_blame(report, elsewhere);
    }
    return report;
}

} // namespace

Findings check_jacobians(CheckedProgram& s, Jacobians& jacobians) {
    std::size_t columns = 0;
    for (const Var<double>& x : s.inputs) columns += x.size();
    const std::size_t elements = s.rows * columns;
    const Coverage wanted = s.options.coverage;
    if (!s.has_dual || wanted == Coverage::full || (wanted == Coverage::automatic && elements <= largest_automatic))
        return check_in_full(s, jacobians);
    auto [found, agree] = check_along_directions(s);
    if (agree) found.report.notes = fmt::format("{} elements were checked along random directions only", elements);
    else if (elements <= largest_full) return check_in_full(s, jacobians);
    else
        found.break_contract(fmt::format(
            "random directions disagree; the Jacobian of {} elements is too large to look for the element", elements));
    return std::move(found);
}

Findings check_backward(CheckedProgram& s, Jacobians& jacobians) {
    Findings found;
    if (!s.options.quick) found += check_contract(s);
    found += check_jacobians(s, jacobians);
    if (!s.options.quick && !found.failed()) found += check_additivity(s, jacobians);
    return found;
}

} // namespace detail

GradcheckReport gradcheck(
    const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs, const GradcheckOptions& wanted) {
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
    GradcheckOptions options = wanted;
    if (!(options.tolerance > 0) || !(options.identity_tolerance > 0))
        throw Error("gradcheck: tolerances must be positive");
    if (options.quick) options.tolerance = std::max(options.tolerance, 1e-6);
    if (std::string why; !Replay<double>::possible(outputs, &why)) throw Error("gradcheck: " + why);

    // Differences see through stops: they are checked as ops with a backward of 0.
    static const OpOf<detail::SeenThrough> seen_through{detail::SeenThrough{}};
    std::string stops;
    const detail::TapeState& tape = *outputs.front().state();
    for (detail::Index i = 0; i <= detail::last_of(outputs).line(); ++i)
        if (tape[i].op != nullptr && tape[i].op->blocks_gradient() && !detail::wanted_operands(tape, tape[i]).empty())
            detail::say(stops, tape.label(i) +
                                   ": differences see through it, the backward does not; "
                                   "GradcheckOptions::hold_stops compares with it held fixed");
    if (stops.empty() || options.hold_stops) return detail::check_and_blame(outputs, inputs, options);
    std::vector<Array<double>> point;
    for (const Var<double>& x : inputs) point.push_back(x.value());
    const detail::ProgramCopy seen = detail::recorded_anew(outputs, inputs, point,
        [](const Op* op) { return op->blocks_gradient() ? static_cast<const Op*>(&seen_through) : op; });
    GradcheckReport report = detail::check_and_blame(seen.outputs, seen.inputs, options);
    detail::say(report.why, stops);
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
