// Every kernel gives the same answer: in float, double and long double, and on both instruction sets.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/steps.hpp>
#include <chalkgrad/autograd/kernel/isa.hpp>

namespace chalkgrad {
namespace detail {
namespace {

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

/// The first difference that is more than what rounding of the inputs makes, in words, or nothing.
std::string lasting_disagreement(CheckedProgram& s, const std::vector<double>& mine, const std::vector<double>& theirs,
    const std::vector<Array<double>>& w, double epsilon) {
    if (disagreement(s, mine, theirs, std::vector<double>(mine.size(), 0), epsilon).empty()) return {};
    s.restore();
    bool possible = true;
    const std::vector<double> moves = movement(s, answers(s, s.program, w), w, epsilon, possible);
    return possible ? disagreement(s, mine, theirs, moves, epsilon) : std::string();
}

template <class U> void compare_scalar(CheckedProgram& s, const std::vector<Array<double>>& w, Findings& found) {
    if (!Replay<U>::possible(s.outputs)) return;
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
    if (const std::string broken = lasting_disagreement(s, mine, theirs, w, epsilon); !broken.empty())
        found.break_contract(fmt::format("the {} kernels give another answer: {}", name(dtype_of<U>), broken));
}

std::vector<Array<double>> draw_cotangents(const CheckedProgram& s) {
    Generator rng = s.stream(7);
    std::vector<Array<double>> w;
    for (const Var<double>& y : s.outputs) w.push_back(rng.standard_normal(y.shape()));
    return w;
}

} // namespace

Findings check_kernels(CheckedProgram& s) {
    Findings found;
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
    const std::string broken =
        detail::lasting_disagreement(s, found[1], found[0], w, std::numeric_limits<double>::epsilon());
    return broken.empty() ? broken
                          : "the kernels of the base instruction set give another answer than those of AVX2: " + broken;
}

} // namespace chalkgrad
