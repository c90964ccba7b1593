// Dong et al. 2021 (arXiv:2103.03404): attention alone makes all tokens equal; skips prevent it.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>

namespace chalkgrad::rank_collapse_experiment {
namespace {

constexpr std::size_t tokens = 32, d = 64, depth = 12;
constexpr std::uint64_t reference_seed = 41;

/// ‖X − 1 x̄ᵀ‖ / ‖X‖: how far the tokens are from being all the same.
double distance(const X& x) { return norm((x - mean(x, 0, true)).value()) / norm(x.value()); }

struct Variant {
    const char* name;
    bool normed, skip;
};

std::vector<double> distances(const Variant& variant, uint128 seed) {
    Generator rng{Seed(seed)};
    Tape tape;
    X x = tape.constant(rng.standard_normal({tokens, d}));
    std::vector<double> all{distance(x)};
    for (std::size_t l = 0; l < depth; ++l) {
        const X z = variant.normed ? rms_norm(x, {}, 1e-12) : x;
        const auto project = [&] { return matmul(z, tape.constant(rng.normal(0, 1 / std::sqrt(double(d)), {d, d}))); };
        const X q = project(), k = project(), v = project(), y = sdpa(q, k, v);
        x = variant.skip ? x + y : y;
        all.push_back(distance(x));
    }
    return all;
}

/// One layer without a skip, for three tokens of four features: the distance that is left.
X small_layer() {
    Generator rng{Seed(reference_seed)};
    Tape tape;
    const X x = tape.variable(rng.standard_normal({3, 4}), "X");
    const auto project = [&](const char* name) { return matmul(x, tape.variable(rng.normal(0, 0.5, {4, 4}), name)); };
    const X q = project("Wq"), k = project("Wk"), v = project("Wv"), y = sdpa(q, k, v);
    return (y - mean(y, 0, true)).named("Y − 1 ȳᵀ");
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    Plot plot{
        "distance", "Distance of the tokens from being all equal", {"attention layer"}, {"‖X − 1x̄ᵀ‖/‖X‖", true}, {}};
    for (const Variant& v : {Variant{"attention alone", false, false}, Variant{"normed input", true, false},
             Variant{"with skip", false, true}, Variant{"normed input and skip", true, true}}) {
        const std::vector<double> r = distances(v, options.seed_or(reference_seed));
        for (std::size_t l = 0; l <= depth; ++l) {
            const std::string column = fmt::format("distance after layer {}", l);
            // Below 1e-12 the tokens differ by rounding only: there is no digit to compare.
            if (r[l] > 1e-12) judge(report, v.name, relative(1e-6), {{column, r[l]}});
            else report.number(fmt::format("{}: {}", v.name, column), r[l], 0, absolute(1e-14), "rounding alone");
        }
        plot.series.push_back({v.name, iota(0, depth), r, Mark::line_points});
    }
    report.plot(plot);
    const std::vector<double>& alone = plot.series[0].y;
    for (const std::size_t l : {1, 2})
        report.measured(fmt::format("attention alone: log r after layer {} / log r after layer {}", l + 1, l),
            std::log(alone[l + 1]) / std::log(alone[l]),
            "the paper: doubly exponential at a cubic rate: log r at least triples from layer to layer, up "
            "to a constant");
    report.measured(
        "with skip: distance after layer 12", plot.series[2].y.back(), "the paper: skips prevent the collapse");
    report.tape(small_layer());
}

} // namespace chalkgrad::rank_collapse_experiment
