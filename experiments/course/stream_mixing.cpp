// Course §12: a doubly stochastic A keeps each feature between the streams, and pulls the streams together.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/streams/mhc_mix.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

namespace chalkgrad::stream_mixing_experiment {
namespace {

/// How far A X leaves the range of the input streams, over all features.
double outside(const Array<double>& x, const Array<double>& logits, std::ptrdiff_t iterations, SinkhornOrder order) {
    Tape tape;
    const X streams = tape.constant(x);
    const X y = mhc_mix_param(streams, tape.constant(logits), {iterations, order}), low = amin(streams, 0),
            high = amax(streams, 0);
    double most = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t j = i % low.size();
        most = std::max({most, y.data()[i] - high.data()[j], low.data()[j] - y.data()[i]});
    }
    return most;
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    const Array<double> a{{0.75, 0.25}, {0.25, 0.75}};
    Tape tape;
    Array<double> x = Array<double>::from_shape({2, 1});
    x(0, 0) = 2, x(1, 0) = 6;
    X streams = tape.constant(x);
    Series first{"stream 1", {}, {}, Mark::line_points}, second{"stream 2", {}, {}, Mark::line_points}, middle{"mean"};
    for (int step = 0; step <= 8; ++step) {
        first.add(step, streams.data()[0]);
        second.add(step, streams.data()[1]);
        middle.add(step, mean(streams).item());
        streams = mhc_mix_fixed(streams, a);
    }
    report.number("A X, stream 1", first.y[1], 3, exact, "course §12");
    report.number("A X, stream 2", second.y[1], 5, exact, "course §12");
    report.number("mean of the streams after A", middle.y[1], 4, exact, "course §12: it is preserved");
    report.plot({"streams", "Mixing keeps the mean, not the streams", {"times mixed by A"}, {"value of a stream"},
        {first, second, middle}});
    X shown = Tape().variable(x, "X");
    for (int step = 0; step < 3; ++step) shown = mhc_mix_fixed(shown, a);
    report.tape(shown.named("A³ X"));

    const Array<double> logits = 3 * options.rng(6).standard_normal({4, 4});
    const Array<double> many =
        Generator{Seed(options.seed_or(6) + 3)}.standard_normal({4, 64}); // seed 9 with the reference draws
    for (const std::ptrdiff_t k : {1, 20, 100})
        report.number(fmt::format("rows last, {} iterations: A X outside the range", k),
            outside(many, logits, k, SinkhornOrder::cols_first), 0, absolute(1e-14),
            "course §12: a convex combination");
    report.seeded_number("columns last, 1 iteration: A X outside the range",
        outside(many, logits, 1, SinkhornOrder::rows_first), 0.7094721686971577, relative(1e-12),
        "NumPy: rows do not sum to 1 yet");
    report.seeded_number("columns last, 20 iterations", outside(many, logits, 20, SinkhornOrder::rows_first), 0,
        absolute(1e-14), "NumPy");
}

} // namespace chalkgrad::stream_mixing_experiment
