// Course §4: the Jacobian of h + F(h) is I + J_F. The identity is a direct path, and no promise: F(h) = −h closes it.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::direct_path_experiment {

constexpr std::size_t d = 16;

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(4);
    const Array<double> h = rng.standard_normal({d}), w = random_matrices(rng, 1, d)[0];
    const auto branch = [&](const X& x) { return matmul(x.tape().constant(w), tanh(x)); };

    const Array<double> closed = jacobian([](const X& x) { return x + -x; }, h);
    report.number("F(h) = −h: largest |J|", largest(closed), 0, exact, "course §4");
    Array<double> direct = jacobian(branch, h);
    for (std::size_t i = 0; i < d; ++i) direct(i, i) += 1;
    report.number("F(h) = W tanh(h): largest |J − (I + J_F)|",
        largest(jacobian([&](const X& x) { return x + branch(x); }, h) - direct), 0, absolute(1e-15), "course §4");

    Plot& plot = report.plot({"singular_values", "The identity holds J up only while the branch is small",
        {"scale s of the branch, J = I + s J_F"}, {"singular value of J", true}});
    for (const double s : linspace(-3, 3, 61)) {
        const auto sigma = singular_values(jacobian([&](const X& x) { return x + s * branch(x); }, h));
        plot.at("largest", Mark::line).add(s, sigma.front());
        plot.at("smallest", Mark::line).add(s, sigma.back());
    }
    report.measured("smallest singular value of J over the scales shown",
        *std::ranges::min_element(plot.at("smallest").y), "course §4: the sum need not be well conditioned");
    const X x = Tape().variable(h, "h");
    report.tape((x + branch(x)).named("h next"));
}

} // namespace chalkgrad::direct_path_experiment
