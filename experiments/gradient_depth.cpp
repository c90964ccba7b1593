// Xiong et al. 2020 (arXiv:2002.04745): the gradient of the last FFN's W₂ at initialisation, against depth, Post-LN and
// Pre-LN.
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
#include <chalkgrad/ops/reduce.hpp>

#include <cmath>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

using X = Var<double>;
using nn::Placement;

constexpr std::size_t tokens = 16, d = 64, hidden = 256, classes = 32, seeds = 6;
constexpr std::uint64_t reference_seed = 100;  // and the five after it
const std::vector<std::size_t> depths = {2, 4, 8, 16, 32};

/// The encoder of the paper's proof: queries and keys are 0, so every token attends to all of them equally.
struct Encoder {
    struct Layer {
        Array<double> v, o, w1, w2;
    };
    Array<double> x, readout;
    Array<std::int64_t> labels;
    std::vector<Layer> layers;
};

Encoder draw(std::uint64_t seed) {
    Generator rng{Seed(seed)};
    const auto xavier = [&](std::size_t in, std::size_t out) {
        return rng.normal(0, std::sqrt(2.0 / double(in + out)), {in, out});
    };
    Encoder encoder{rng.standard_normal({tokens, d}),
                    rng.normal(0, 1 / std::sqrt(double(d)), {d, classes}),
                    rng.integers(0, classes, {tokens}),
                    {}};
    for (std::size_t l = 0; l < depths.back(); ++l)  // a shallower encoder is the beginning of a deeper one
        encoder.layers.push_back({xavier(d, d), xavier(d, d), xavier(d, hidden), xavier(hidden, d)});
    return encoder;
}

/// ‖∂loss/∂W₂‖ of each layer.
std::vector<double> gradients(const Encoder& encoder, Placement placement, std::size_t depth) {
    const auto norm = [](const X& x, int) { return layer_norm(x); };
    Tape tape;
    X h = tape.constant(encoder.x);
    std::vector<X> w2;
    for (std::size_t l = 0; l < depth; ++l) {
        const Encoder::Layer& layer = encoder.layers[l];
        const auto attention = [&](const X& z) {
            return matmul(matmul(mean(z, 0, true), tape.constant(layer.v)), tape.constant(layer.o));
        };
        const auto ffn = [&](const X& z) {
            return matmul(relu(matmul(z, tape.constant(layer.w1))), w2.emplace_back(tape.variable(layer.w2, "W2")));
        };
        h = nn::residual(placement, h, attention, norm);
        h = nn::residual(placement, h, ffn, norm);
    }
    if (placement == Placement::pre) h = layer_norm(h);
    cross_entropy(matmul(h, tape.constant(encoder.readout)), encoder.labels).backward();
    std::vector<double> norms;
    for (const X& w : w2) norms.push_back(chalkgrad::norm(w.grad()));
    return norms;
}

void run(Report& report, const ExperimentOptions& options) {
    const Placement placements[] = {Placement::post, Placement::pre};
    std::vector<std::vector<std::vector<double>>> of_seed(seeds);  // seed → placement and depth → layer
    parallel_for(seeds, [&](std::size_t s) {
        const Encoder encoder = draw(options.seed_or(reference_seed) + s);
        for (const Placement placement : placements)
            for (const std::size_t depth : depths) of_seed[s].push_back(gradients(encoder, placement, depth));
    });

    Plot last{"last_layer", "Gradient of the last W₂, mean of 6 seeds", {"depth L", true}, {"‖∂loss/∂W₂‖", true}, {}};
    Plot profile{"profile", "Gradient of W₂ in each layer of 32", {"layer"}, {"‖∂loss/∂W₂‖", true}, {}};
    const Tolerance tolerance = Tolerance::relative(1e-9);
    for (std::size_t p = 0; p < 2; ++p) {
        const char* const name = nn::name(placements[p]);
        Series of_depth{name, {}, {}, Mark::line_points};
        for (std::size_t i = 0; i < depths.size(); ++i) {
            const std::size_t depth = depths[i];
            std::vector<double> mean(depth);
            for (const auto& each : of_seed)
                for (std::size_t l = 0; l < depth; ++l) mean[l] += each[p * depths.size() + i][l] / double(seeds);
            const std::string row = fmt::format("{}, L = {}", name, depth);
            judge(report, row, "gradient of W2, first layer", mean.front(), tolerance);
            judge(report, row, "gradient of W2, middle layer", mean[depth / 2], tolerance);
            judge(report, row, "gradient of W2, last layer", mean.back(), tolerance);
            of_depth.x.push_back(double(depth)), of_depth.y.push_back(mean.back());
            if (depth == 32) profile.series.push_back({name, linspace(1, 32, 32), mean, Mark::line_points});
        }
        const double exponent = power(of_depth.x, of_depth.y);
        judge(report, name, "slope of log gradient over log L", exponent, tolerance);
        report.measured(fmt::format("{}: gradient of the last W2 ~ L^p, p", name), exponent,
                        placements[p] == Placement::post
                            ? "theorem 1: p = 0, the last gradient does not shrink with depth"
                            : "theorem 1: p = -1/2, a bound of O(d sqrt(ln d / L))");
        last.series.push_back(std::move(of_depth));
    }
    report.measured("post, L = 32: first over last layer", profile.series[0].y.front() / profile.series[0].y.back(),
                    "nearly flat here: in this setting Post shows no steep profile over the layers");
    report.plot(last);
    report.plot(profile);
    report.not_reproduced("training without warm-up under Pre-LN", "it takes training runs");
}

}  // namespace

Experiment gradient_depth_experiment() {
    return {"gradient_depth", "6",
            "At initialisation, how large is the gradient of the last layer, by depth and placement?", run};
}

}  // namespace chalkgrad
