// Course §5: a norm reduces over the features of one token. Over tokens the shapes fit; the Jacobian shows the fault.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::wrong_axis_experiment {

constexpr std::size_t tokens = 4, d = 5;

X over_features(const X& h) { return layer_norm(h); }
X over_tokens(const X& h) { return transpose(layer_norm(transpose(h))); }

/// The largest derivative of one token's output by another token's input.
double across_tokens(const Array<double>& j) {
    double most = 0;
    for (std::size_t row = 0; row < tokens * d; ++row)
        for (std::size_t column = 0; column < tokens * d; ++column)
            if (row / d != column / d) most = std::max(most, std::abs(j(row, column)));
    return most;
}

void run(Report& report, const ExperimentOptions& options) {
    const Array<double> x = options.rng(3).standard_normal({tokens, d});
    const Array<double> right = jacobian(over_features, x), wrong = jacobian(over_tokens, x);
    report.number("over features: largest derivative across tokens", across_tokens(right), 0, exact,
        "course §5: over features of one token");
    report.measured("over tokens: largest derivative across tokens", across_tokens(wrong),
        "the fault; values and shapes look ordinary");

    const char *input = "input element (token · 5 + feature)", *output = "output element (token · 5 + feature)";
    report.heat_map(
        jacobian_map("features", "LayerNorm over features: one block for each token", input, output, "∂y/∂x", right));
    report.heat_map(
        jacobian_map("tokens", "LayerNorm over tokens: every token sees every other", input, output, "∂y/∂x", wrong));
    report.tape(over_tokens(Tape().variable(x, "h")).named("y"));
}

} // namespace chalkgrad::wrong_axis_experiment
