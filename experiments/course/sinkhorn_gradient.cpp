// Course §12: the derivative through every Sinkhorn iteration against the derivative of the limit, taken from the
// result alone.
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/course/measure.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace chalkgrad::sinkhorn_gradient_experiment {
namespace {

Array<double> gradient(
    const Array<double>& logits, const Array<double>& cotangent, std::ptrdiff_t iterations, SinkhornGradient kind) {
    Tape tape;
    const Var<double> m = tape.variable(logits);
    sinkhorn_log(m, {iterations, SinkhornOrder::cols_first, kind}).backward(cotangent);
    return m.grad();
}

double relative_distance(const Array<double>& a, const Array<double>& b) { return largest(a - b) / largest(b); }

void run(Report& report, const ExperimentOptions& options) {
    Generator rng{Seed(options.seed_or(6))};
    const Array<double> draws = rng.standard_normal({4, 4}), cotangent = rng.standard_normal({4, 4});
    Plot plot{"distance", "The implicit gradient is right once the iteration has converged", {"iterations"},
        {"largest difference, relative", true}, {}};
    for (const double scale : {1., 3., 6.}) {
        const Array<double> logits = scale * draws;
        Series curve{fmt::format("logits × {:g}", scale)};
        for (std::ptrdiff_t k = 1; k <= 60; ++k) {
            const double apart = relative_distance(gradient(logits, cotangent, k, SinkhornGradient::implicit),
                gradient(logits, cotangent, k, SinkhornGradient::unrolled));
            curve.add(double(k), std::max(apart, 1e-16));
        }
        report.measured(fmt::format("logits × {:g}: distance after 20 iterations", scale), curve.y[19],
            "the paper's 20 iterations");
        plot.series.push_back(std::move(curve));
    }
    report.number("logits × 1, 100 iterations: distance",
        relative_distance(gradient(draws, cotangent, 100, SinkhornGradient::implicit),
            gradient(draws, cotangent, 100, SinkhornGradient::unrolled)),
        0, Tolerance::absolute(1e-12), "both are the derivative of the limit");

    // A number added to a row or column of logits changes nothing: gradients sum to 0 along the half-step that came
    // first.
    const Array<double> g = gradient(3 * draws, cotangent, 20, SinkhornGradient::unrolled);
    double most = 0;
    for (std::size_t j = 0; j < 4; ++j) most = std::max(most, std::abs(g(0, j) + g(1, j) + g(2, j) + g(3, j)));
    report.number("unrolled: largest sum over a column of the gradient", most, 0, Tolerance::absolute(1e-14),
        "shifting a column of logits changes nothing");
    report.plot(std::move(plot));
    const Var<double> logits = Tape().variable(Array<double>{{2, 0}, {0, 0}}, "logits");
    report.tape(sinkhorn_log_composed(logits, {.iterations = 2, .order = SinkhornOrder::cols_first}).named("A"));
}

} // namespace

Experiment experiment() {
    return {"sinkhorn_gradient", "12", "When may Sinkhorn's gradient be taken from its limit?", run};
}

} // namespace chalkgrad::sinkhorn_gradient_experiment
