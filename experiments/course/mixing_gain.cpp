// mHC (arXiv:2512.24880 §5.4): how much 60 layers of stream mixing amplify, free matrices (HC) against Sinkhorn's.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

namespace chalkgrad::mixing_gain_experiment {
namespace {

constexpr std::size_t streams = 4, layers = 60;

/// The paper's gains: the largest |row sum| is what a signal of equal streams becomes, the largest |column sum| a
/// gradient.
double row_gain(const X& h) { return amax(abs(sum(h, 1))).item(); }
double column_gain(const X& h) { return amax(abs(sum(h, 0))).item(); }

struct Gains {
    double row = 0, column = 0;            // the largest of a single layer
    std::vector<double> forward, backward; // of H_l … H_1 and H_60 … H_l, as they grow
    double stretch = 0;                    // largest singular value of H_60 … H_1
};

Gains gains(const std::vector<X>& h) {
    Gains g;
    X up = h.front(), down = h.back();
    for (std::size_t l = 0; l < layers; ++l) {
        g.row = std::max(g.row, row_gain(h[l]));
        g.column = std::max(g.column, column_gain(h[l]));
        if (l > 0) up = matmul(h[l], up), down = matmul(down, h[layers - 1 - l]);
        g.forward.push_back(row_gain(up));
        g.backward.push_back(column_gain(down));
    }
    g.stretch = singular_values(up.value()).front();
    return g;
}

double worst(const std::vector<double>& gains) { return *std::max_element(gains.begin(), gains.end()); }

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    const Array<double> noise = options.rng(51).standard_normal({layers, streams, streams});
    Tape tape;
    Array<double> identity = Array<double>::from_shape({streams, streams});
    for (std::size_t i = 0; i < streams * streams; ++i) identity.data()[i] = i % (streams + 1) == 0 ? 1 : 0;
    const X one = tape.constant(identity);
    const auto noise_of = [&](std::size_t l) {
        return tape.leaf<double>({streams, streams}, noise.data() + l * streams * streams, false);
    };

    Plot forward{"forward", "Forward gain of layers 1 … l", {"layer l"}, {"largest |row sum|", true}, {}};
    Plot backward{"backward", "Backward gain of layers 60 … 61 − l", {"layers l"}, {"largest |column sum|", true}, {}};
    std::map<std::string, Gains> all;
    const auto add = [&](const std::string& row, const std::vector<X>& h, bool drawn) {
        const Gains& g = all[row] = gains(h);
        judge(report, row, relative(1e-9),
            {{"largest row of one layer", g.row}, {"largest column of one layer", g.column},
                {"worst forward", worst(g.forward)}, {"worst backward", worst(g.backward)},
                {"forward, all layers", g.forward.back()}, {"backward, all layers", g.backward.back()},
                {"largest singular value", g.stretch}});
        if (!drawn) return;
        const std::vector<double> l = iota(1, layers);
        forward.series.push_back({row, l, g.forward});
        backward.series.push_back({row, l, g.backward});
    };
    for (const double s : {0.1, 0.2, 0.3, 0.5}) {
        std::vector<X> h;
        for (std::size_t l = 0; l < layers; ++l) h.push_back(one + s * noise_of(l));
        add(fmt::format("HC, s = {}", s), h, s != 0.2);
    }
    for (const double s : {3., 6.})
        for (const std::ptrdiff_t k : {1, 3, 20, 100}) {
            std::vector<X> h;
            for (std::size_t l = 0; l < layers; ++l)
                h.push_back(
                    sinkhorn_log(3 * one + s * noise_of(l), {.iterations = k, .order = SinkhornOrder::cols_first}));
            add(fmt::format("mHC, s = {}, k = {}", s, k), h, s == 6 && k != 3);
        }
    report.plot(forward);
    report.plot(backward);

    report.measured("HC, s = 0.3: worst forward gain", worst(all.at("HC, s = 0.3").forward),
        "the paper's 27B model: HC reaches about 3000");
    report.measured("mHC, s = 6, 20 iterations: worst backward gain", worst(all.at("mHC, s = 6, k = 20").backward),
        "the paper's 27B model: at most about 1.6");
    report.measured("mHC, s = 6, 20 iterations: worst forward gain", worst(all.at("mHC, s = 6, k = 20").forward),
        "the paper: about 1.00 to 1.01; here exactly 1, as the rows come last. Random logits are no trained model's");
}

} // namespace chalkgrad::mixing_gain_experiment
