// DeepNet (Wang et al. 2022, arXiv:2203.00555): how far a tiny gradient step moves the output, against depth.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::deepnorm_update_experiment {

constexpr std::size_t tokens = 16, d = 64, hidden = 256, classes = 32, seeds = 4;
constexpr double step = 1e-6;

/// A decoder with causal attention of one head and a ReLU FFN. Its weights are Wq, Wk, Wv, Wo, W₁, W₂ of one layer after
/// the other.
X decoder(Placement placement, double alpha, X h, const std::vector<X>& weights) {
    const auto norm = [](const X& z, int) { return layer_norm(z); };
    for (auto w = weights.begin(); w != weights.end(); w += 6) {
        const auto attention = [&](const X& z) {
            return matmul(sdpa(matmul(z, w[0]), matmul(z, w[1]), matmul(z, w[2]), {.causal = true}), w[3]);
        };
        const auto ffn = [&](const X& z) { return matmul(relu(matmul(z, w[4])), w[5]); };
        h = nn::residual(placement, h, attention, norm, alpha);
        h = nn::residual(placement, h, ffn, norm, alpha);
    }
    return placement == Placement::pre ? layer_norm(h) : h;
}

/// ‖∂loss/∂W₂‖ of the first layer over that of the last; the latter; RMS of the output's change over the step.
std::vector<double> one_step(Placement placement, std::size_t depth, uint128 seed) {
    const auto [alpha, beta] = placement == Placement::deepnorm ? nn::deepnorm(depth) : nn::DeepNorm{1, 1};
    Generator rng{Seed(seed)};
    Tape tape, moved;
    const Array<double> x = rng.standard_normal({tokens, d});
    const X readout = tape.constant(rng.normal(0, 1 / std::sqrt(double(d)), {d, classes}));
    const Array<std::int64_t> labels = rng.integers(0, classes, {tokens});
    std::vector<X> weights, after_step;
    const auto draw = [&](double gain, std::size_t in, std::size_t out) { // by Xavier's rule
        weights.push_back(tape.variable(rng.normal(0, gain * std::sqrt(2.0 / double(in + out)), {in, out})));
    };
    for (std::size_t l = 0; l < depth; ++l) {
        for (const double gain : {1.0, 1.0, beta, beta}) draw(gain, d, d);
        draw(beta, d, hidden);
        draw(beta, hidden, d);
    }
    const X y = decoder(placement, alpha, tape.constant(x), weights);
    cross_entropy(matmul(y, readout), labels).backward();

    for (const X& w : weights) after_step.push_back(moved.constant(w.value() - step * w.grad()));
    const Array<double> change = decoder(placement, alpha, moved.constant(x), after_step).value() - y.value();
    const double last = norm(weights.back().grad());
    return {norm(weights[5].grad()) / last, last, root_mean_square(change) / step};
}

void run(Report& report, const ExperimentOptions& options) {
    Plot& plot = report.plot({"change", "Change of the output by one gradient step η (mean of 4 seeds)",
        {"layers N", true}, {"RMS(ΔF)/η", true}});
    for (const Placement placement : {Placement::post, Placement::deepnorm, Placement::pre}) {
        Series& changes = plot.at(nn::name(placement));
        for (const std::size_t depth : {6, 12, 24}) {
            const auto mean = mean_over_seeds(
                options.seed_or(200), seeds, [&](uint128 seed) { return one_step(placement, depth, seed); });
            judge(report, fmt::format("{}, N = {}", changes.name, depth), relative(1e-6),
                {{"gradient of W2, first / last layer", mean[0]}, {"gradient of W2, last layer", mean[1]},
                    {"change of the output / step", mean[2]}});
            changes.add(double(depth), mean[2]);
        }
        report.measured(changes.name + ": change ~ N^p, p", fit_power_law(changes.x, changes.y),
            placement == Placement::deepnorm ? "the paper: bounded by a constant, p = 0"
                                             : "the paper: under Post it explodes with depth; Pre lies between");
    }
    report.not_reproduced(
        "training of 1,000 layers", "no model is trained here: the step is a virtual one, and N goes to 24");
}

} // namespace chalkgrad::deepnorm_update_experiment
