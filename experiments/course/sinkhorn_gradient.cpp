// Course §12: the derivative through every Sinkhorn iteration against that of the limit, taken from the result alone.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

namespace chalkgrad::sinkhorn_gradient_experiment {
namespace {

Array<double> gradient(
    const Array<double>& logits, const Array<double>& cotangent, std::ptrdiff_t iterations, SinkhornGradient kind) {
    Tape tape;
    const X m = tape.variable(logits);
    sinkhorn_log(m, {iterations, SinkhornOrder::cols_first, kind}).backward(cotangent);
    return m.grad();
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(6);
    const Array<double> draws = rng.standard_normal({4, 4}), cotangent = rng.standard_normal({4, 4});
    const auto apart = [&](const Array<double>& logits, double iterations) {
        const auto k = std::ptrdiff_t(iterations);
        const Array<double> unrolled = gradient(logits, cotangent, k, SinkhornGradient::unrolled);
        return largest(gradient(logits, cotangent, k, SinkhornGradient::implicit) - unrolled) / largest(unrolled);
    };
    Plot plot{"distance", "The implicit gradient is right once the iteration has converged", {"iterations"},
        {"largest difference, relative", true}, {}};
    for (const double scale : {1., 3., 6.}) {
        const Series curve = chalkgrad::curve(fmt::format("logits × {:g}", scale), linspace(1, 60, 60),
            [&](double k) { return std::max(apart(scale * draws, k), 1e-16); });
        report.measured(fmt::format("logits × {:g}: distance after 20 iterations", scale), curve.y[19],
            "the paper's 20 iterations");
        plot.series.push_back(curve);
    }
    report.number("logits × 1, 100 iterations: distance", apart(draws, 100), 0, absolute(1e-12),
        "both are the derivative of the limit");

    // A number added to a row or column of logits changes nothing: gradients sum to 0 along the half-step that came
    // first.
    const Array<double> g = gradient(3 * draws, cotangent, 20, SinkhornGradient::unrolled);
    double most = 0;
    for (std::size_t j = 0; j < 4; ++j) most = std::max(most, std::abs(g(0, j) + g(1, j) + g(2, j) + g(3, j)));
    report.number("unrolled: largest sum over a column of the gradient", most, 0, absolute(1e-14),
        "shifting a column of logits changes nothing");
    report.plot(std::move(plot));
    const X logits = Tape().variable(Array<double>{{2, 0}, {0, 0}}, "logits");
    report.tape(sinkhorn_log_composed(logits, {.iterations = 2, .order = SinkhornOrder::cols_first}).named("A"));
}

} // namespace chalkgrad::sinkhorn_gradient_experiment
