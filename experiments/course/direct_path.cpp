// Course §4: the Jacobian of h + F(h) is I + J_F. The identity is a direct path, and no promise: F(h) = −h closes it.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::direct_path_experiment {
namespace {

constexpr std::size_t d = 16;

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(4);
    const Array<double> h = rng.standard_normal({d}), w = random_matrices(rng, 1, d)[0];
    const auto branch = [&](const X& x) { return matmul(x.tape().constant(w), tanh(x)); };

    const Array<double> closed = jacobian([](const X& x) { return x + -x; }, h);
    report.number("F(h) = −h: largest |J|", largest(closed), 0, exact, "course §4");
    Array<double> apart = jacobian([&](const X& x) { return x + branch(x); }, h);
    const Array<double> of_branch = jacobian(branch, h);
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j) apart(i, j) -= of_branch(i, j) + (i == j);
    report.number("F(h) = W tanh(h): largest |J − (I + J_F)|", largest(apart), 0, absolute(1e-15), "course §4");

    const Array<double> s = linspace(-3, 3, 61);
    Series greatest{"largest"}, least{"smallest"};
    for (const double scale : s) {
        const std::vector<double> sigma =
            singular_values(jacobian([&](const X& x) { return x + scale * branch(x); }, h));
        greatest.add(scale, sigma.front());
        least.add(scale, sigma.back());
    }
    report.measured("smallest singular value of J over the scales shown",
        *std::min_element(least.y.begin(), least.y.end()), "course §4: the sum need not be well conditioned");
    report.plot({"singular_values", "The identity holds J up only while the branch is small",
        {"scale s of the branch, J = I + s J_F"}, {"singular value of J", true}, {greatest, least}});
    Tape shown;
    const X x = shown.variable(h, "h");
    report.tape((x + branch(x)).named("h next"));
}

} // namespace chalkgrad::direct_path_experiment
