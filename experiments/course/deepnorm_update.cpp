// DeepNet (Wang et al. 2022, arXiv:2203.00555): how far a tiny gradient step moves the output, against depth.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/nn/layers/residual.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/reduce/cross_entropy.hpp>

namespace chalkgrad::deepnorm_update_experiment {
namespace {

using nn::Placement;

constexpr std::size_t tokens = 16, d = 64, hidden = 256, classes = 32, seeds = 4;
constexpr double step = 1e-6;

struct Setting {
    Placement placement;
    std::size_t depth;
    double alpha = 1, beta = 1; // weight of the residual; gain of Wv, Wo, W₁, W₂
};

Setting setting(Placement placement, std::size_t depth) {
    if (placement != Placement::deepnorm) return {placement, depth};
    return {placement, depth, std::pow(2 * double(depth), 0.25), std::pow(8 * double(depth), -0.25)};
}

/// Wq, Wk, Wv, Wo, W₁, W₂ of one layer after the other, by Xavier's rule.
std::vector<Array<double>> draw_weights(const Setting& s, Generator& rng) {
    std::vector<Array<double>> weights;
    const auto add = [&](double gain, std::size_t in, std::size_t out) {
        weights.push_back(rng.normal(0, gain * std::sqrt(2.0 / double(in + out)), {in, out}));
    };
    for (std::size_t l = 0; l < s.depth; ++l) {
        for (const double gain : {1.0, 1.0, s.beta, s.beta}) add(gain, d, d);
        add(s.beta, d, hidden);
        add(s.beta, hidden, d);
    }
    return weights;
}

/// The decoder with causal attention of one head and a ReLU FFN.
X decoder(const Setting& s, X h, const std::vector<X>& weights) {
    const auto norm = [](const X& z, int) { return layer_norm(z); };
    for (auto w = weights.begin(); w != weights.end(); w += 6) {
        const auto attention = [&](const X& z) {
            return matmul(sdpa(matmul(z, w[0]), matmul(z, w[1]), matmul(z, w[2]), {.causal = true}), w[3]);
        };
        const auto ffn = [&](const X& z) { return matmul(relu(matmul(z, w[4])), w[5]); };
        h = nn::residual(s.placement, h, attention, norm, s.alpha);
        h = nn::residual(s.placement, h, ffn, norm, s.alpha);
    }
    return s.placement == Placement::pre ? layer_norm(h) : h;
}

/// ‖∂loss/∂W₂‖ of the first layer over that of the last; the latter; RMS of the output's change over the step.
std::vector<double> one_step(const Setting& s, uint128 seed) {
    Generator rng{Seed(seed)};
    Tape tape, moved;
    const Array<double> x = rng.standard_normal({tokens, d});
    const X readout = tape.constant(rng.normal(0, 1 / std::sqrt(double(d)), {d, classes}));
    const Array<std::int64_t> labels = rng.integers(0, classes, {tokens});
    std::vector<X> weights, after_step;
    for (const Array<double>& w : draw_weights(s, rng)) weights.push_back(tape.variable(w));
    const X y = decoder(s, tape.constant(x), weights);
    cross_entropy(matmul(y, readout), labels).backward();

    for (const X& w : weights) after_step.push_back(moved.constant(w.value() - step * w.grad()));
    const Array<double> change = decoder(s, moved.constant(x), after_step).value() - y.value();
    const double last = norm(weights.back().grad());
    return {norm(weights[5].grad()) / last, last, root_mean_square(change) / step};
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    Plot changes{"change", "Change of the output by one gradient step η (mean of 4 seeds)", {"layers N", true},
        {"RMS(ΔF)/η", true}, {}};
    for (const Placement placement : {Placement::post, Placement::deepnorm, Placement::pre}) {
        Series series{nn::name(placement), {}, {}, Mark::line_points};
        for (const std::size_t depth : {6, 12, 24}) {
            const std::vector<double> mean = mean_over_seeds(
                options.seed_or(200), seeds, [&](uint128 seed) { return one_step(setting(placement, depth), seed); });
            judge(report, fmt::format("{}, N = {}", series.name, depth), relative(1e-6),
                {{"gradient of W2, first / last layer", mean[0]}, {"gradient of W2, last layer", mean[1]},
                    {"change of the output / step", mean[2]}});
            series.add(double(depth), mean[2]);
        }
        report.measured(series.name + ": change ~ N^p, p", fit_power_law(series.x, series.y),
            placement == Placement::deepnorm ? "the paper: bounded by a constant, p = 0"
                                             : "the paper: under Post it explodes with depth; Pre lies between");
        changes.series.push_back(std::move(series));
    }
    report.plot(changes);
    report.not_reproduced(
        "training of 1,000 layers", "no model is trained here: the step is a virtual one, and N goes to 24");
}

} // namespace chalkgrad::deepnorm_update_experiment
