// Course §12: the derivative through every Sinkhorn iteration against that of the limit, taken from the result alone.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::sinkhorn_gradient_experiment {

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(6);
    const Array<double> draws = rng.standard_normal({4, 4}), cotangent = rng.standard_normal({4, 4});
    const auto gradient = [&](const Array<double>& logits, double iterations, SinkhornGradient kind) {
        const X m = Tape().variable(logits);
        sinkhorn_log(m, {std::ptrdiff_t(iterations), SinkhornOrder::cols_first, kind}).backward(cotangent);
        return m.grad();
    };
    const auto apart = [&](const Array<double>& logits, double iterations) {
        const Array<double> unrolled = gradient(logits, iterations, SinkhornGradient::unrolled);
        return largest(gradient(logits, iterations, SinkhornGradient::implicit) - unrolled) / largest(unrolled);
    };
    Plot& plot = report.plot({"distance", "The implicit gradient is right once the iteration has converged",
        {"iterations"}, {"largest difference, relative", true}});
    for (const double scale : {1., 3., 6.}) {
        const std::string name = fmt::format("logits × {:g}", scale);
        for (const double k : linspace(1, 60, 60))
            plot.at(name, Mark::line).add(k, std::max(apart(scale * draws, k), 1e-16));
        report.measured(name + ": distance after 20 iterations", plot.at(name).y[19], "the paper's 20 iterations");
    }
    report.number("logits × 1, 100 iterations: distance", apart(draws, 100), 0, absolute(1e-12),
        "both are the derivative of the limit");

    // A number added to a row or column of logits changes nothing: gradients sum to 0 along the half-step that came
    // first.
    const X g = Tape().constant(gradient(3 * draws, 20, SinkhornGradient::unrolled));
    report.number("unrolled: largest sum over a column of the gradient", largest(sum(g, 0).value()), 0, absolute(1e-14),
        "shifting a column of logits changes nothing");
    const X logits = Tape().variable(Array<double>{{2, 0}, {0, 0}}, "logits");
    report.tape(sinkhorn_log_composed(logits, {.iterations = 2, .order = SinkhornOrder::cols_first}).named("A"));
}

} // namespace chalkgrad::sinkhorn_gradient_experiment
