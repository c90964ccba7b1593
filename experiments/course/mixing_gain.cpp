// mHC (arXiv:2512.24880 §5.4): how much 60 layers of stream mixing amplify, free matrices (HC) against Sinkhorn's.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::mixing_gain_experiment {

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

void run(Report& report, const ExperimentOptions& options) {
    const Array<double> noise = options.rng(51).standard_normal({layers, streams, streams});
    Tape tape;
    const X one = tape.constant(Array<double>{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}});
    Plot& forward = report.plot({"forward", "Forward gain of layers 1 … l", {"layer l"}, {"largest |row sum|", true}});
    Plot& backward =
        report.plot({"backward", "Backward gain of layers 60 … 61 − l", {"layers l"}, {"largest |column sum|", true}});
    std::map<std::string, Gains> all;
    const auto add = [&](const std::string& row, bool drawn, const std::function<X(const X& noise)>& mixing) {
        std::vector<X> h;
        for (std::size_t l = 0; l < layers; ++l)
            h.push_back(mixing(tape.leaf<double>({streams, streams}, noise.data() + l * streams * streams, false)));
        const Gains& g = all[row] = gains(h);
        judge(report, row, relative(1e-9),
            {{"largest row of one layer", g.row}, {"largest column of one layer", g.column},
                {"worst forward", largest(g.forward)}, {"worst backward", largest(g.backward)},
                {"forward, all layers", g.forward.back()}, {"backward, all layers", g.backward.back()},
                {"largest singular value", g.stretch}});
        if (!drawn) return;
        forward.series.push_back({row, iota(1, layers), g.forward});
        backward.series.push_back({row, iota(1, layers), g.backward});
    };
    for (const double s : {0.1, 0.2, 0.3, 0.5})
        add(fmt::format("HC, s = {}", s), s != 0.2, [&](const X& noise) { return one + s * noise; });
    for (const double s : {3., 6.})
        for (const std::ptrdiff_t k : {1, 3, 20, 100})
            add(fmt::format("mHC, s = {}, k = {}", s, k), s == 6 && k != 3, [&](const X& noise) {
                return sinkhorn_log(3 * one + s * noise, {.iterations = k, .order = SinkhornOrder::cols_first});
            });

    report.measured("HC, s = 0.3: worst forward gain", largest(all.at("HC, s = 0.3").forward),
        "the paper's 27B model: HC reaches about 3000");
    report.measured("mHC, s = 6, 20 iterations: worst backward gain", largest(all.at("mHC, s = 6, k = 20").backward),
        "the paper's 27B model: at most about 1.6");
    report.measured("mHC, s = 6, 20 iterations: worst forward gain", largest(all.at("mHC, s = 6, k = 20").forward),
        "the paper: about 1.00 to 1.01; here exactly 1, as the rows come last. Random logits are no trained model's");
}

} // namespace chalkgrad::mixing_gain_experiment
