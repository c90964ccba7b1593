// Inputs that cannot show a fault, and where one would show.
#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

/// What a point cannot show.
struct BlindSpot {
    std::string says;
    bool lone = false; ///< for want of more than one number: no single point would do, but several do
    bool idle = false; ///< nothing depends on an input here
};
using BlindSpots = std::vector<BlindSpot>;

/// Inputs of equal numbers, factors of 1 or 0 among others, and sides of kinks that no number lies on, at the program's point.
BlindSpots blind_spots_of_values(CheckedProgram& s) {
    BlindSpots found;
    for (const Var<double>& x : s.inputs) {
        const double* numbers = s.program.values(x.line());
        const bool alone = x.size() == 1, neutral = x.size() > 0 && (numbers[0] == 1 || numbers[0] == 0);
        if (alone ? neutral && s.inputs.size() > 1
                  : x.size() > 1 && std::all_of(numbers, numbers + x.size(), [&](double v) { return v == numbers[0]; }))
            found.push_back({fmt::format("{} {:.6g}: {}",
                alone ? describe(x) + " is" : "every number of " + describe(x) + " is", numbers[0],
                neutral ? "a factor used twice, or not at all, would not show"
                        : "a sum over the wrong axis, or a place taken for another, would not show")});
    }
    const TapeState& tape = *s.outputs.front().state();
    for (const std::uint32_t line : s.kinked_lines) {
        const KinkSides sides = s.program.kinks({line});
        for (const KinkSides::Branch& branch : sides.branches())
            if ((branch.below == 0) != (branch.above == 0)) {
                found.push_back({fmt::format("{}: no number lies {} {:.6g}, so the slope there was not seen",
                    tape.label(line), branch.below == 0 ? "below" : "above", branch.kink)});
                found.back().lone = branch.below + branch.above == 1;
            }
    }
    return found;
}

/// Whether a block is zero as far as anyone can tell.
bool is_still(const Block& b) {
    bool depends = false;
    b.each([&](std::size_t, std::size_t j, std::size_t k) {
        depends |= b.on_kink[j] || std::abs(b.numeric[k]) > b.error[k] || std::abs(b.analytic[k]) > 1e-12;
    });
    return !depends;
}

/// Inputs that no output depends on, and outputs that depend on no input, at the recorded point.
BlindSpots idle(const CheckedProgram& s, const Jacobians& jacobians) {
    BlindSpots found;
    const auto name_those = [&](const std::vector<Var<double>>& vars, std::size_t Block::*which, const char* sentence) {
        for (std::size_t v = 0; v < vars.size(); ++v)
            if (vars[v].size() > 0 && std::all_of(jacobians.blocks.begin(), jacobians.blocks.end(),
                                          [&](const Block& b) { return b.*which != v || is_still(b); }))
                found.push_back({fmt::format(fmt::runtime(sentence), describe(vars[v])), vars[v].size() == 1, true});
    };
    name_those(
        s.inputs, &Block::input, "no output depends on {} at this point: any backward that gives zero would pass");
    if (s.outputs.size() > 1)
        name_those(s.outputs, &Block::output,
            "output {} depends on no input at this point: any backward that gives zero would pass");
    return found;
}

/// Whether some input leaves all outputs as they are at the program's point: one random sweep for each output.
bool has_idle_input(CheckedProgram& s) {
    Generator rng = s.stream(8);
    std::vector<double> largest(s.inputs.size(), 0);
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Array<double> w = rng.standard_normal(s.outputs[y].shape());
        s.program.backward(s.output_lines[y], w.data());
        for (std::size_t x = 0; x < s.inputs.size(); ++x)
            if (const double* g = s.program.gradient(s.inputs[x].line()))
                for (std::size_t j = 0; j < s.inputs[x].size(); ++j) largest[x] = std::max(largest[x], std::abs(g[j]));
    }
    return std::any_of(largest.begin(), largest.end(), [](double f) { return !(f > 1e-12); });
}

using Point = std::vector<Array<double>>;

/// Draws points of several scales until one has no blind spot, and says how it begins.
void propose(CheckedProgram& s, GradcheckReport& report) {
    for (const double scale : {1.0, 3.0, 10.0, 30.0, 0.1, 0.01})
        for (std::uint64_t which = 0; which < 3; ++which) {
            Generator rng = s.stream(9, which);
            Point point;
            for (const Var<double>& x : s.inputs) {
                point.push_back(rng.normal(0, scale, x.shape()));
                if (which == 2) // for roots and logarithms
                    for (double& v : point.back()) v = std::abs(v);
            }
            bool shows = false;
            s.at_point(point, [&] {
                const BlindSpots left = blind_spots_of_values(s);
                shows = !has_idle_input(s) &&
                        std::all_of(left.begin(), left.end(), [](const BlindSpot& spot) { return spot.lone; });
            });
            if (!shows) continue;
            report.proposal = std::move(point);
            std::string first;
            for (std::size_t x = 0; x < s.inputs.size(); ++x)
                if (report.proposal[x].size() > 0)
                    first += fmt::format("{}{} begins with {:.3g}", first.empty() ? "" : ", ", describe(s.inputs[x]),
                        report.proposal[x].data()[0]);
            return say(report.why, fmt::format("a point that would show it: random numbers of size {:g} "
                                               "(report.proposal; {})",
                                       scale, first));
        }
}

// ---- beyond the point

GradcheckReport check_at(const CheckedProgram& s, const Point& point) {
    GradcheckOptions options = s.options;
    options.blind_spots = false;
    options.identities.clear(); // they hold at the other point
    const ProgramCopy there = recorded_anew(s.outputs, s.inputs, point, [](const Op* op) { return op; });
    return gradcheck(there.outputs, there.inputs, options);
}

/// A line whose gradient is that of a limit, by its attribute, in words; or nothing. It is right where the rounds have come close to that.
std::string limit_of(const CheckedProgram& s) {
    const TapeState& tape = *s.outputs.front().state();
    for (const std::uint32_t line : s.lines) {
        Attributes attributes;
        tape[line].op->attributes(attributes);
        const Attribute* gradient = attributes.find("gradient");
        if (gradient != nullptr && to_string(*gradient).find("implicit") != std::string::npos) return tape.label(line);
    }
    return {};
}

/// Looks where the inputs are several times what they are, or have the other sign: a backward that is wrong there is proposed, and
/// what one number alone could not show is taken from the list.
void look_beyond(CheckedProgram& s, BlindSpots& lone, GradcheckReport& report) {
    bool seen = false, in_limit = true;
    for (const double factor : {-1., 3., -3., 10., -10., 30., -30., 100., -100., 0.1, 0.01}) {
        Point point;
        for (const Var<double>& x : s.inputs) {
            point.push_back(x.value());
            if (x.size() == 1 && point.back().data()[0] == 0) point.back().data()[0] = 1; // no multiple of 0 leaves it
            point.back() *= factor;
        }
        std::optional<GradcheckReport> there;
        Generator rng = s.stream(13);
        s.at_point(point, [&] {
            seen = true;
            const BlindSpots still = blind_spots_of_values(s);
            const auto shown = std::stable_partition(lone.begin(), lone.end(), [&](const BlindSpot& spot) {
                return spot.idle ? has_idle_input(s)
                                 : std::any_of(still.begin(), still.end(),
                                       [&](const BlindSpot& one) { return one.says == spot.says; });
            });
            if (shown != lone.end() || disagreeing_output(s, rng)) there = check_at(s, point);
            lone.erase(shown, lone.end());
        });
        if (!there || there->verdict != Verdict::fail) continue;
        if (const std::string limit = limit_of(s); !limit.empty()) {
            if (!in_limit) continue;
            in_limit = false;
            say(report.notes, fmt::format("with every number times {:g} the rounds of {} do not come close to their "
                                          "limit, whose gradient the implicit one is",
                                  factor, limit));
            continue;
        }
        const JacobianElement& worst = there->worst;
        say(report.why,
            fmt::format("beyond this point the backward is wrong: with every number times {:g} (report.proposal) it "
                        "gives {:.6g} for d {}[{}] / d {}[{}], where differences give {:.6g}",
                factor, worst.analytic, worst.output, fmt::join(worst.output_index, ", "), worst.input,
                fmt::join(worst.index, ", "), worst.numeric));
        report.verdict = Verdict::inconclusive;
        report.proposal = std::move(point);
        return lone.clear();
    }
    if (!seen) say(report.notes, "what the program does beyond these numbers was not seen: it is not finite there");
}

} // namespace

GradcheckReport with_blind_spots(CheckedProgram& s, const Jacobians& jacobians, GradcheckReport report) {
    if (report.verdict == Verdict::fail) return report;
    if (s.options.blind_spots) {
        BlindSpots found = blind_spots_of_values(s);
        if (!report.projected)
            for (BlindSpot& spot : idle(s, jacobians)) found.push_back(std::move(spot));
        const bool all_lone = std::all_of(found.begin(), found.end(), [](const BlindSpot& spot) { return spot.lone; });
        if (all_lone && report && !report.projected && !s.options.quick) look_beyond(s, found, report);
        for (const BlindSpot& spot : found) say(report.why, spot.says);
        if (!found.empty()) report.verdict = Verdict::inconclusive;
    }
    if (report.verdict == Verdict::inconclusive && report.proposal.empty()) propose(s, report);
    s.restore();
    return report;
}

} // namespace chalkgrad::detail
