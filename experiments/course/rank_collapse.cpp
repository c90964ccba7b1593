// Dong et al. 2021 (arXiv:2103.03404): attention alone makes all tokens equal; skips prevent it.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::rank_collapse_experiment {

constexpr std::size_t tokens = 32, d = 64, depth = 12;
constexpr std::uint64_t reference_seed = 41;

/// ‖X − 1 x̄ᵀ‖ / ‖X‖: how far the tokens are from being all the same.
double distance(const X& x) { return norm((x - mean(x, 0, true)).value()) / norm(x.value()); }

/// Before the first layer, then after each.
std::vector<double> distances(bool normed, bool skip, Generator rng) {
    Tape tape;
    X x = tape.constant(rng.standard_normal({tokens, d}));
    std::vector<double> all{distance(x)};
    for (std::size_t l = 0; l < depth; ++l) {
        const X z = normed ? rms_norm(x, {}, 1e-12) : x;
        const std::vector<X> w = random_matrices(tape, rng, 3, d);
        const X y = sdpa(matmul(z, w[0]), matmul(z, w[1]), matmul(z, w[2]));
        x = skip ? x + y : y;
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

void run(Report& report, const ExperimentOptions& options) {
    Plot& plot = report.plot(
        {"distance", "Distance of the tokens from being all equal", {"attention layer"}, {"‖X − 1x̄ᵀ‖/‖X‖", true}});
    for (const auto& [name, normed, skip] : Rows<std::string, bool, bool>{{"attention alone", false, false},
             {"normed input", true, false}, {"with skip", false, true}, {"normed input and skip", true, true}}) {
        const std::vector<double> r = distances(normed, skip, options.rng(reference_seed));
        for (std::size_t l = 0; l <= depth; ++l) {
            const std::string column = fmt::format("distance after layer {}", l);
            // Below 1e-12 the tokens differ by rounding only: there is no digit to compare.
            if (r[l] > 1e-12) judge(report, name, relative(1e-6), {{column, r[l]}});
            else report.number(fmt::format("{}: {}", name, column), r[l], 0, absolute(1e-14), "rounding alone");
        }
        plot.series.push_back({name, iota(0, depth), r, Mark::line_points});
    }
    const std::vector<double>& alone = plot.at("attention alone").y;
    for (const std::size_t l : {1, 2})
        report.measured(fmt::format("attention alone: log r after layer {} / log r after layer {}", l + 1, l),
            std::log(alone[l + 1]) / std::log(alone[l]),
            "the paper: doubly exponential at a cubic rate: log r at least triples from layer to layer, up "
            "to a constant");
    report.measured(
        "with skip: distance after layer 12", plot.at("with skip").y.back(), "the paper: skips prevent the collapse");
    report.tape(small_layer());
}

} // namespace chalkgrad::rank_collapse_experiment
