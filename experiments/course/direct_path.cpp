// Course §4: the Jacobian of h + F(h) is I + J_F. The identity is a direct path, and no promise: F(h) = −h closes it.
#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/course/measure.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>

#include <cmath>

namespace chalkgrad::direct_path_experiment {
namespace {

constexpr std::size_t d = 16;

void run(Report& report, const ExperimentOptions& options) {
    Generator rng{Seed(options.seed_or(4))};
    const Array<double> h = rng.standard_normal({d}), w = rng.normal(0, 1 / std::sqrt(double(d)), {d, d});
    const auto branch = [&](const Var<double>& x) { return matmul(x.tape().constant(w), tanh(x)); };

    const Array<double> closed = jacobian([](const Var<double>& x) { return x + -x; }, h);
    report.number("F(h) = −h: largest |J|", largest(closed), 0, Tolerance::exact(), "course §4");
    Array<double> apart = jacobian([&](const Var<double>& x) { return x + branch(x); }, h);
    const Array<double> of_branch = jacobian(branch, h);
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j) apart(i, j) -= of_branch(i, j) + (i == j);
    report.number(
        "F(h) = W tanh(h): largest |J − (I + J_F)|", largest(apart), 0, Tolerance::absolute(1e-15), "course §4");

    const Array<double> s = linspace(-3, 3, 61);
    Series greatest{"largest"}, least{"smallest"};
    for (const double scale : s) {
        const std::vector<double> sigma =
            singular_values(jacobian([&](const Var<double>& x) { return x + scale * branch(x); }, h));
        greatest.add(scale, sigma.front());
        least.add(scale, sigma.back());
    }
    report.measured("smallest singular value of J over the scales shown",
        *std::min_element(least.y.begin(), least.y.end()), "course §4: the sum need not be well conditioned");
    report.plot({"singular_values", "The identity holds J up only while the branch is small",
        {"scale s of the branch, J = I + s J_F"}, {"singular value of J", true}, {greatest, least}});
    Tape shown;
    const Var<double> x = shown.variable(h, "h");
    report.tape((x + branch(x)).named("h next"));
}

} // namespace

Experiment experiment() {
    return {"direct_path", "4", "Does the residual connection keep the Jacobian well conditioned?", run};
}

} // namespace chalkgrad::direct_path_experiment
