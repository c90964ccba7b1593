// How far back a trained attention looks, and what its rotary positions are worth: windows and no RoPE, without training.
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_positions_experiment {

nn::Checkpoint windowed(std::size_t keys) {
    return with_blocks([keys](nn::BlockOptions& o) { o.attention.window = keys; });
}

void run(Report& report, const ExperimentOptions&) {
    const double plain = report_changed(report, "as_trained", trained_model());
    report_changed(report, "no_rope", with_blocks([](nn::BlockOptions& o) { o.attention.rope.reset(); }));
    for (const std::size_t keys : {8, 32}) report_changed(report, fmt::format("window_{}", keys), windowed(keys));

    Plot& plot =
        report.plot({"window", "Loss by the keys that a query sees", {"window", true}, {"loss (nats a token)"}});
    for (const std::size_t keys : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 83}) {
        plot.at("windowed").add(double(keys), loss(windowed(keys), other_story()));
        plot.at("full attention", Mark::line).add(double(keys), plain);
    }
    report.measured(
        "window of 1: loss", plot.at("windowed").y.front(), "no token sees another: what is left is a bigram");
    report.measured(
        "window of 4: loss", plot.at("windowed").y[3], "most of what attention brings lies a few tokens back");
}

} // namespace chalkgrad::trained_positions_experiment
