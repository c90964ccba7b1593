// Course §12: a doubly stochastic A keeps each feature between the streams, and pulls the streams together.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::stream_mixing_experiment {

void run(Report& report, const ExperimentOptions& options) {
    const Array<double> a{{0.75, 0.25}, {0.25, 0.75}};
    Array<double> two{2, 6}; // streams of one feature
    two.reshape({2, 1});
    const Tape tape;
    X x = tape.constant(two);
    Plot& plot =
        report.plot({"streams", "Mixing keeps the mean, not the streams", {"times mixed by A"}, {"value of a stream"}});
    for (int step = 0; step <= 8; ++step) {
        plot.at("stream 1").add(step, x.data()[0]);
        plot.at("stream 2").add(step, x.data()[1]);
        plot.at("mean", Mark::line).add(step, mean(x).item());
        x = mhc_mix_fixed(x, a);
    }
    report.number("A X, stream 1", plot.at("stream 1").y[1], 3, exact, "course §12");
    report.number("A X, stream 2", plot.at("stream 2").y[1], 5, exact, "course §12");
    report.number("mean of the streams after A", plot.at("mean").y[1], 4, exact, "course §12: it is preserved");
    X shown = Tape().variable(two, "X");
    for (int step = 0; step < 3; ++step) shown = mhc_mix_fixed(shown, a);
    report.tape(shown.named("A³ X"));

    const X logits = tape.constant(3 * options.rng(6).standard_normal({4, 4}));
    const X many = tape.constant( // seed 9 with the reference draws
        Generator{Seed(options.seed_or(6) + 3)}.standard_normal({4, 64}));
    const auto outside = [&](std::ptrdiff_t iterations, SinkhornOrder order) {
        const X y = mhc_mix_param(many, logits, {iterations, order});
        return std::max({amax(y - amax(many, 0, true)).item(), amax(amin(many, 0, true) - y).item(), 0.0});
    };
    for (const std::ptrdiff_t k : {1, 20, 100})
        report.number(fmt::format("rows last, {} iterations: A X outside the range", k),
            outside(k, SinkhornOrder::cols_first), 0, absolute(1e-14), "course §12: a convex combination");
    report.seeded_number("columns last, 1 iteration: A X outside the range", outside(1, SinkhornOrder::rows_first),
        0.7094721686971577, relative(1e-12), "NumPy: rows do not sum to 1 yet");
    report.seeded_number(
        "columns last, 20 iterations", outside(20, SinkhornOrder::rows_first), 0, absolute(1e-14), "NumPy");
}

} // namespace chalkgrad::stream_mixing_experiment
