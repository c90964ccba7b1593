// Course §5: a norm reduces over the features of one token. Over tokens the shapes fit; the Jacobian shows the fault.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>

namespace chalkgrad::wrong_axis_experiment {
namespace {

constexpr std::size_t tokens = 4, d = 5;

/// The largest derivative of one token's output by another token's input.
double across_tokens(const Array<double>& j) {
    double most = 0;
    for (std::size_t row = 0; row < j.shape(0); ++row)
        for (std::size_t column = 0; column < j.shape(1); ++column)
            if (row / d != column / d) most = std::max(most, std::abs(j(row, column)));
    return most;
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(3);
    const Array<double> x = rng.standard_normal({tokens, d});
    const Array<double> right = jacobian([](const X& h) { return layer_norm(h); }, x);
    const auto over_tokens = [](const X& h) { return transpose(layer_norm(transpose(h))); };
    const Array<double> wrong = jacobian(over_tokens, x);
    report.number("over features: largest derivative across tokens", across_tokens(right), 0, exact,
        "course §5: over features of one token");
    report.measured("over tokens: largest derivative across tokens", across_tokens(wrong),
        "the fault; values and shapes look ordinary");

    const auto show = [&](const char* name, const char* title, const Array<double>& j) {
        report.heat_map({name, title, "input element (token · 5 + feature)", "output element (token · 5 + feature)",
            "∂y/∂x", tokens * d, tokens * d, {j.begin(), j.end()}, true});
    };
    show("features", "LayerNorm over features: one block for each token", right);
    show("tokens", "LayerNorm over tokens: every token sees every other", wrong);
    report.tape(over_tokens(Tape().variable(x, "h")).named("y"));
}

} // namespace chalkgrad::wrong_axis_experiment
