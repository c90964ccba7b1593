// How does the place of the norm bound the stream? Four placements over eight seeds: a curve with a band for each.
#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/experiments.hpp>
#include <cmath>

using namespace chalkgrad;

/// The RMS of 16 tokens after each of 24 residual steps; `step` makes one of the stream and a random linear map.
Series growth(const char* placement, uint128 seed, auto step) {
    constexpr std::size_t d = 64;
    Generator rng{Seed(seed)};
    const Tape tape;
    auto h = tape.constant(rng.standard_normal({16, d}));
    Series curve{placement};
    for (int l = 1; l <= 24; ++l) {
        const auto w = tape.constant(rng.normal(0, 1 / std::sqrt(double(d)), {d, d}));
        h = step(h, [&](const auto& x) { return matmul(x, w); });
        curve.add(l, sqrt(mean(square(h))).item());
    }
    return curve;
}

std::vector<Series> all_placements(uint128 seed) {
    return {
        growth("none", seed, [](auto h, auto f) { return h + f(h); }),
        growth("pre", seed, [](auto h, auto f) { return h + f(rms_norm(h)); }),
        growth("peri", seed, [](auto h, auto f) { return h + rms_norm(f(rms_norm(h))); }),
        growth("post", seed, [](auto h, auto f) { return rms_norm(h + f(h)); }),
    };
}

void run(Report& report, const ExperimentOptions& options) {
    const uint128 first = options.seed_or(0);
    const Plot& plot = report.plot({"growth", "Growth of the stream over eight seeds, mean ± standard deviation",
        {"residual step"}, {"RMS(h)", true}, over_seeds(first, first + 7, all_placements)});
    const char* const chance[] = {"chance: √2²⁴ = 4096", "chance: √(1 + 24) = 5", "chance: √(1 + 24) = 5", "1"};
    for (std::size_t i = 0; i < 4; ++i)
        report.measured("RMS after step 24, " + plot.series[i].name, plot.series[i].y.back(), chance[i]);
}

int main(int argc, char** argv) {
    return experiment_main(argc, argv, {{"placement", "6", "How does the place of the norm bound the stream?", run}});
}
