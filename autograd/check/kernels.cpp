// Every kernel gives the same answer: in float, double and long double, and on both instruction sets.
#include <chalkgrad/autograd/check/steps.hpp>
#include <chalkgrad/autograd/kernel/isa.hpp>

namespace chalkgrad {
namespace detail {
namespace {

/// An output or a gradient of ⟨w, y⟩, and what rounding inside the ops may change there, in units of epsilon.
struct Answer {
    std::string name;
    double loss;
    std::vector<double> numbers;
};
template <class U>
std::vector<Answer> answers(CheckedProgram& s, Replay<U>& program, const std::vector<Array<double>>& w) {
    std::vector<Answer> all;
    double ratio = 1; // a value weighs up to the size of x / length, and is rounded as often
    for (std::size_t x = 0; x < s.inputs.size(); ++x)
        ratio = std::max(ratio, CheckedProgram::size_of(s.inputs[x]) / s.shortest(x));
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const U* values = program.values(s.output_lines[y]);
        all.push_back(
            {"output " + describe(s.outputs[y]), 100 * ratio * std::max(1.0, CheckedProgram::size_of(s.outputs[y])),
                {values, values + s.outputs[y].size()}});
    }
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const std::vector<U> gradients = gradients_of(s, program, y, w[y]);
        auto from = gradients.begin();
        for (std::size_t x = 0; x < s.inputs.size(); ++x) {
            const auto to = from + static_cast<std::ptrdiff_t>(s.inputs[x].size());
            all.push_back({"the gradient of " + describe(s.inputs[x]), s.loss(y, x, 1), {from, to}});
            from = to;
        }
    }
    return all;
}

/// Compares two lists of answers; `moves` are answers at inputs that are rounded otherwise. The first difference in words, or nothing.
std::string disagreement(const std::vector<Answer>& mine, const std::vector<Answer>& theirs,
    const std::vector<std::vector<Answer>>& moves, double epsilon) {
    for (std::size_t n = 0; n < mine.size(); ++n) {
        const std::vector<double>&here = mine[n].numbers, &there = theirs[n].numbers;
        double scale = 0, slack = 0;
        for (std::size_t i = 0; i < here.size(); ++i) {
            if (std::isfinite(here[i])) scale = std::max(scale, std::abs(here[i]));
            for (const std::vector<Answer>& moved : moves)
                if (const double change = std::abs(moved[n].numbers[i] - moves[0][n].numbers[i]); std::isfinite(change))
                    slack = std::max(slack, change);
        }
        for (std::size_t i = 0; i < here.size(); ++i)
            if (std::isfinite(here[i]) && std::isfinite(there[i]) &&
                std::abs(here[i] - there[i]) > epsilon * (100 * scale + mine[n].loss) + 20 * slack)
                return fmt::format("{} is {:.16g} there, {:.16g} here", mine[n].name, there[i], here[i]);
    }
    return {};
}

/// The first difference that is more than what rounding of the inputs makes, in words, or nothing.
std::string lasting_disagreement(CheckedProgram& s, const std::vector<Answer>& mine, const std::vector<Answer>& theirs,
    const std::vector<Array<double>>& w, double epsilon) {
    if (disagreement(mine, theirs, {}, epsilon).empty()) return {};
    s.restore();
    std::vector<std::vector<Answer>> moves = {answers(s, s.program, w)};
    for (std::uint64_t which = 3; which < 6; ++which)
        if (!s.at_perturbed_inputs(which, 4 * epsilon, [&] { moves.push_back(answers(s, s.program, w)); })) return {};
    return disagreement(mine, theirs, moves, epsilon);
}

template <class U> void compare_scalar(CheckedProgram& s, const std::vector<Array<double>>& w, Findings& found) {
    if (!Replay<U>::possible(s.outputs)) return;
    Replay<U> program(s.outputs);
    // At numbers that U has: only what happens inside the ops is compared.
    for (const Var<double>& x : s.inputs)
        for (std::size_t j = 0; j < x.size(); ++j)
            s.program.values(x.line())[j] = static_cast<double>(static_cast<U>(x.data()[j]));
    s.program.run();
    const std::vector<Answer> mine = answers(s, s.program, w), theirs = answers(s, program, w);
    s.restore();
    constexpr double epsilon =
        std::max<double>(std::numeric_limits<U>::epsilon(), std::numeric_limits<double>::epsilon());
    if (const std::string broken = lasting_disagreement(s, mine, theirs, w, epsilon); !broken.empty())
        found.break_contract(fmt::format("the {} kernels give another answer: {}", name(dtype_of<U>), broken));
}

} // namespace

Findings check_kernels(CheckedProgram& s) {
    Findings found;
    Generator rng = s.stream(7);
    const std::vector<Array<double>> w = draw(s.outputs, rng);
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
    Generator rng = s.stream(7);
    const std::vector<Array<double>> w = detail::draw(s.outputs, rng);
    const Isa before = isa();
    std::vector<detail::Answer> found[2];
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
