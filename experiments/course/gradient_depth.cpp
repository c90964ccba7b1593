// Xiong et al. 2020 (arXiv:2002.04745): the gradient of the last W₂ at initialisation, by depth, Post-LN and Pre-LN.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::gradient_depth_experiment {

constexpr std::size_t tokens = 16, d = 64, hidden = 256, classes = 32, seeds = 6;

/// ‖∂loss/∂W₂‖ of each layer of the encoder in the paper's proof: queries and keys are 0, so that every token attends
/// to all of them equally. Drawn in this order: x, readout, labels, then V, O, W₁, W₂ of each layer by Xavier's rule.
std::vector<double> gradients(Placement placement, std::size_t depth, uint128 seed) {
    const auto norm = [](const X& x, int) { return layer_norm(x); };
    Generator rng{Seed(seed)};
    Tape tape;
    const auto xavier = [&](std::size_t in, std::size_t out) {
        return tape.variable(rng.normal(0, std::sqrt(2.0 / double(in + out)), {in, out}));
    };
    X h = tape.constant(rng.standard_normal({tokens, d}));
    const X readout = tape.constant(rng.normal(0, 1 / std::sqrt(double(d)), {d, classes}));
    const Array<std::int64_t> labels = rng.integers(0, classes, {tokens});
    std::vector<X> last_matrices;
    for (std::size_t l = 0; l < depth; ++l) {
        const X v = xavier(d, d), o = xavier(d, d), w1 = xavier(d, hidden), w2 = xavier(hidden, d);
        const auto attention = [&](const X& z) { return matmul(matmul(mean(z, 0, true), v), o); };
        const auto ffn = [&](const X& z) { return matmul(relu(matmul(z, w1)), w2); };
        h = nn::residual(placement, nn::residual(placement, h, attention, norm), ffn, norm);
        last_matrices.push_back(w2);
    }
    if (placement == Placement::pre) h = layer_norm(h);
    cross_entropy(matmul(h, readout), labels).backward();

    std::vector<double> norms;
    for (const X& w2 : last_matrices) norms.push_back(chalkgrad::norm(w2.grad()));
    return norms;
}

void run(Report& report, const ExperimentOptions& options) {
    Plot& last = report.plot(
        {"last_layer", "Gradient of the last W₂, mean of 6 seeds", {"depth L", true}, {"‖∂loss/∂W₂‖", true}});
    Plot& profile = report.plot({"profile", "Gradient of W₂ in each layer of 32", {"layer"}, {"‖∂loss/∂W₂‖", true}});
    const Tolerance tolerance = relative(1e-9);
    for (const Placement placement : {Placement::post, Placement::pre}) {
        Series& of_depth = last.at(nn::name(placement));
        for (const std::size_t depth : {2, 4, 8, 16, 32}) {
            const auto mean = mean_over_seeds(
                options.seed_or(100), seeds, [&](uint128 seed) { return gradients(placement, depth, seed); });
            judge(report, fmt::format("{}, L = {}", of_depth.name, depth), tolerance,
                {{"gradient of W2, first layer", mean.front()}, {"gradient of W2, middle layer", mean[depth / 2]},
                    {"gradient of W2, last layer", mean.back()}});
            of_depth.add(double(depth), mean.back());
            if (depth == 32) profile.series.push_back({of_depth.name, iota(1, 32), mean, Mark::line_points});
        }
        const double exponent = fit_power_law(of_depth.x, of_depth.y);
        judge(report, of_depth.name, tolerance, {{"slope of log gradient over log L", exponent}});
        report.measured(of_depth.name + ": gradient of the last W2 ~ L^p, p", exponent,
            placement == Placement::post ? "theorem 1: p = 0, the last gradient does not shrink with depth"
                                         : "theorem 1: p = -1/2, a bound of O(d sqrt(ln d / L))");
    }
    report.measured("post, L = 32: first over last layer", profile.at("post").y.front() / profile.at("post").y.back(),
        "nearly flat here: in this setting Post shows no steep profile over the layers");
    report.not_reproduced("training without warm-up under Pre-LN", "it takes training runs");
}

} // namespace chalkgrad::gradient_depth_experiment
