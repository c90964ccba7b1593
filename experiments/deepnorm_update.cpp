// DeepNet (Wang et al. 2022, arXiv:2203.00555): how far one gradient step moves the output, against depth. No training:
// the step is so small that its effect is linear.
#include <chalkgrad/autograd/random.hpp>
#include <chalkgrad/experiments/experiment.hpp>
#include <chalkgrad/experiments/measure.hpp>
#include <chalkgrad/experiments/parallel.hpp>
#include <chalkgrad/experiments/references.hpp>
#include <chalkgrad/nn/residual.hpp>
#include <chalkgrad/ops/activations.hpp>
#include <chalkgrad/ops/cross_entropy.hpp>
#include <chalkgrad/ops/layer_norm.hpp>
#include <chalkgrad/ops/matmul.hpp>
#include <chalkgrad/ops/sdpa.hpp>

#include <cmath>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

using X = Var<double>;
using nn::Placement;

constexpr std::size_t tokens = 16, d = 64, hidden = 256, classes = 32, seeds = 4;
constexpr std::uint64_t reference_seed = 200;  // and the three after it
constexpr double step = 1e-6;
const std::vector<std::size_t> depths = {6, 12, 24};

using Weights = std::vector<Array<double>>;  // Wq, Wk, Wv, Wo, W1, W2 of layer 1, then of layer 2, …
constexpr std::size_t per_layer = 6;

struct Decoder {
    Placement placement;
    std::size_t depth;
    double alpha = 1, beta = 1;  // weight of the residual; gain of Wv, Wo, W1, W2

    Decoder(Placement where, std::size_t layers) : placement(where), depth(layers) {
        if (placement != Placement::deepnorm) return;
        alpha = std::pow(2 * double(depth), 0.25);
        beta = std::pow(8 * double(depth), -0.25);
    }

    X operator()(const X& x, const std::vector<X>& w) const {
        const auto norm = [](const X& z, int) { return layer_norm(z); };
        X h = x;
        for (std::size_t l = 0; l < depth; ++l) {
            const X* const own = &w[per_layer * l];
            const auto attention = [&](const X& z) {
                return matmul(sdpa(matmul(z, own[0]), matmul(z, own[1]), matmul(z, own[2]), {.causal = true}), own[3]);
            };
            const auto ffn = [&](const X& z) { return matmul(relu(matmul(z, own[4])), own[5]); };
            h = nn::residual(placement, h, attention, norm, alpha);
            h = nn::residual(placement, h, ffn, norm, alpha);
        }
        return placement == Placement::pre ? layer_norm(h) : h;
    }
};

struct Draw {
    Array<double> x, readout;
    Array<std::int64_t> labels;
    Weights weights;  // before the gain β, of the deepest decoder
};

Draw draw(std::uint64_t seed) {
    Generator rng{Seed(seed)};
    const auto xavier = [&](std::size_t in, std::size_t out) {
        return rng.normal(0, std::sqrt(2.0 / double(in + out)), {in, out});
    };
    Draw all{rng.standard_normal({tokens, d}),
             rng.normal(0, 1 / std::sqrt(double(d)), {d, classes}),
             rng.integers(0, classes, {tokens}),
             {}};
    for (std::size_t l = 0; l < depths.back(); ++l) {
        for (std::size_t i = 0; i < 4; ++i) all.weights.push_back(xavier(d, d));
        all.weights.push_back(xavier(d, hidden));
        all.weights.push_back(xavier(hidden, d));
    }
    return all;
}

struct Findings {
    double first_over_last, last, change;  // ‖∂loss/∂W₂‖ of the first over the last layer; RMS of ΔF over the step
};

Findings find(const Decoder& decoder, const Draw& given) {
    Tape tape;
    std::vector<X> w;
    for (std::size_t i = 0; i < per_layer * decoder.depth; ++i)
        w.push_back(tape.variable((i % per_layer < 2 ? 1 : decoder.beta) * given.weights[i]));
    const X before = decoder(tape.constant(given.x), w);
    cross_entropy(matmul(before, tape.constant(given.readout)), given.labels).backward();

    Tape other;
    std::vector<X> moved;
    for (const X& each : w) moved.push_back(other.constant(each.value() - step * each.grad()));
    const X after = decoder(other.constant(given.x), moved);
    const double last = norm(w.back().grad());
    return {norm(w[per_layer - 1].grad()) / last, last, root_mean_square(after.value() - before.value()) / step};
}

void run(Report& report, const ExperimentOptions& options) {
    std::vector<Decoder> decoders;
    for (const Placement placement : {Placement::post, Placement::deepnorm, Placement::pre})
        for (const std::size_t depth : depths) decoders.emplace_back(placement, depth);
    std::vector<std::vector<Findings>> of_seed(seeds);
    parallel_for(seeds, [&](std::size_t s) {
        const Draw given = draw(options.seed_or(reference_seed) + s);
        for (const Decoder& decoder : decoders) of_seed[s].push_back(find(decoder, given));
    });

    Plot changes{"change",
                 "Change of the output by one gradient step η (mean of 4 seeds)",
                 {"layers N", true},
                 {"RMS(ΔF)/η", true},
                 {}};
    const Tolerance tolerance = Tolerance::relative(1e-6);
    for (std::size_t i = 0; i < decoders.size(); ++i) {
        const Decoder& decoder = decoders[i];
        Findings mean{};
        for (const auto& each : of_seed) {
            mean.first_over_last += each[i].first_over_last / double(seeds);
            mean.last += each[i].last / double(seeds);
            mean.change += each[i].change / double(seeds);
        }
        const char* const name = nn::name(decoder.placement);
        const std::string row = fmt::format("{}, N = {}", name, decoder.depth);
        judge(report, row, "gradient of W2, first / last layer", mean.first_over_last, tolerance);
        judge(report, row, "gradient of W2, last layer", mean.last, tolerance);
        judge(report, row, "change of the output / step", mean.change, tolerance);
        if (decoder.depth == depths.front()) changes.series.push_back({name, {}, {}, Mark::line_points});
        Series& series = changes.series.back();
        series.x.push_back(double(decoder.depth)), series.y.push_back(mean.change);
    }
    for (const Series& series : changes.series)
        report.measured(series.name + ": change ~ N^p, p", power(series.x, series.y),
                        series.name == "deepnorm" ? "the paper: bounded by a constant, p = 0"
                                                  : "the paper: under Post it explodes with depth; Pre lies between");
    report.plot(changes);
    report.not_reproduced("training of 1,000 layers",
                          "no model is trained here: the step is a virtual one, and N goes to 24");
}

}  // namespace

Experiment deepnorm_update_experiment() {
    return {"deepnorm_update", "6", "How far does one gradient step move the output of a deep stack?", run};
}

}  // namespace chalkgrad
