// Course §5, bridge B07 from NumPy to PyTorch: RMSNorm of seed 7, its gradient against the primitive ops.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::rms_norm_parity_experiment {

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(7);
    Tape tape;
    const X x = tape.variable(rng.standard_normal({3, 5}), "x"), w = tape.variable(rng.standard_normal({5}), "w");
    const X y = rms_norm(x, w).named("y");
    report.tape(y);
    const double numpy[] = {
        0.0017725095587899056, -0.8321950396094452, 0.2599711107188089, 3.5088662648290994, 1.215027790273762};
    for (std::size_t j = 0; j < 5; ++j)
        report.seeded_number(fmt::format("y[0, {}]", j), y.data()[j], numpy[j], relative(1e-13), "NumPy, bridge B07");
    report.seeded_number("sum of y", sum(y).item(), 7.8251391156514325, relative(1e-14), "NumPy, bridge B07");

    const GradcheckReport check = gradcheck({y}, {x, w});
    report.number("gradcheck: largest relative error", check.difference, 0, absolute(1e-9), "bridge B07: gradcheck");

    // The same from seven primitive ops: another route to the same gradients.
    Tape steps;
    const X w2 = steps.variable(w.value(), "w"), x2 = steps.variable(x.value(), "x");
    const X y2 = rms_norm_composed(x2, w2).named("y");
    report.graph("primitive", to_dot(graph_of(steps, {0}), "RMSNorm from primitive ops"));
    const auto one = grad(sum(square(y)), std::vector{x, w}), other = grad(sum(square(y2)), std::vector{x2, w2});
    const double apart = std::max(largest(one[0] - other[0]), largest(one[1] - other[1]));
    report.number("gradients of Σ y²: one op against primitive ones", apart, 0, absolute(1e-10),
        "bridge B07: rtol 1e-9, atol 1e-10");
}

} // namespace chalkgrad::rms_norm_parity_experiment
