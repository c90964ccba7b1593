// Inputs that cannot show a fault, and where one would show.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

/// What a point cannot show, in sentences.
using BlindSpots = std::vector<std::string>;

/// Inputs of equal numbers, factors of 1 or 0 among others, and sides of kinks that no number lies on, at the program's point.
BlindSpots blind_spots_of_values(CheckedProgram& s) {
    BlindSpots found;
    for (const Var<double>& x : s.inputs) {
        const double* numbers = s.program.values(x.line());
        const bool alone = x.size() == 1, neutral = x.size() > 0 && (numbers[0] == 1 || numbers[0] == 0);
        if (alone ? neutral && s.inputs.size() > 1
                  : x.size() > 1 && std::all_of(numbers, numbers + x.size(), [&](double v) { return v == numbers[0]; }))
            found.push_back(fmt::format("{} {:.6g}: {}",
                alone ? describe(x) + " is" : "every number of " + describe(x) + " is", numbers[0],
                neutral ? "a factor used twice, or not at all, would not show"
                        : "a sum over the wrong axis, or a place taken for another, would not show"));
    }
    const TapeState& tape = *s.outputs.front().state();
    for (const std::uint32_t line : s.kinked_lines) {
        const KinkSides sides = s.program.kinks({line});
        for (const KinkSides::Branch& branch : sides.branches())
            if ((branch.below == 0) != (branch.above == 0))
                found.push_back(fmt::format("{}: no number lies {} {:.6g}, so the slope there was not seen",
                    tape.label(line), branch.below == 0 ? "below" : "above", branch.kink));
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
                found.push_back(fmt::format(fmt::runtime(sentence), describe(vars[v])));
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

/// Draws points of several scales until one has no blind spot, and says how it begins.
void propose(CheckedProgram& s, GradcheckReport& report) {
    for (const double scale : {1.0, 3.0, 10.0, 30.0, 0.1, 0.01})
        for (std::uint64_t which = 0; which < 3; ++which) {
            Generator rng = s.stream(9, which);
            std::vector<Array<double>> point;
            for (const Var<double>& x : s.inputs) {
                point.push_back(rng.normal(0, scale, x.shape()));
                if (which == 2) // for roots and logarithms
                    for (double& v : point.back()) v = std::abs(v);
                std::copy(point.back().begin(), point.back().end(), s.program.values(x.line()));
            }
            try {
                s.program.run();
                if (!s.all_finite() || !blind_spots_of_values(s).empty() || has_idle_input(s)) continue;
            } catch (const std::exception&) {
                continue; // the op refuses such numbers
            }
            report.proposal = std::move(point);
            std::string first;
            for (std::size_t x = 0; x < s.inputs.size(); ++x)
                if (report.proposal[x].size() > 0)
                    first += fmt::format("{}{} begins with {:.3g}", first.empty() ? "" : ", ", describe(s.inputs[x]),
                        report.proposal[x].data()[0]);
            say(report, fmt::format("a point that would show it: random numbers of size {:g} (report.proposal; {})",
                            scale, first));
            s.restore();
            return;
        }
    s.restore();
}

} // namespace

GradcheckReport with_blind_spots(CheckedProgram& s, const Jacobians& jacobians, GradcheckReport report) {
    if (report.verdict == Verdict::fail) return report;
    BlindSpots found;
    if (s.options.blind_spots) {
        found = blind_spots_of_values(s);
        if (!report.projected)
            for (std::string& sentence : idle(s, jacobians)) found.push_back(std::move(sentence));
        for (const std::string& sentence : found) say(report, sentence);
        if (!found.empty()) report.verdict = Verdict::inconclusive;
    }
    if (report.verdict == Verdict::inconclusive) propose(s, report);
    return report;
}

} // namespace chalkgrad::detail
