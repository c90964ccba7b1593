// Which sublayer of a trained network matters: all ten are left out in turn, h + F(h) becomes h (course §4).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_sublayers_experiment {

void run(Report& report, const ExperimentOptions&) {
    const double whole = report_changed(report, "as_trained", trained_model());
    Plot& plot = report.plot({"loss", "Loss with one sublayer left out", {"layer"}, {"loss (nats a token)"}});
    for (std::size_t l = 0; l < trained_model().blocks().size(); ++l)
        for (const auto& [kind, matrix] :
            Rows<std::string, std::string>{{"attn", "attention.wo"}, {"ffn", "ffn.w_down"}}) {
            const nn::Checkpoint model = trained_model();
            for_each(model, fmt::format("layers.{}.{}", l, matrix), [](Array<double>& w) { w.fill(0); });
            plot.at("without " + kind)
                .add(double(l), report_changed(report, fmt::format("without_{}_{}", kind, l), model));
        }
    const auto mean = [&](const char* name) {
        const std::vector<double>& y = plot.at(name).y;
        return std::accumulate(y.begin(), y.end(), 0.0) / double(y.size()) - whole;
    };
    report.measured("mean cost of leaving out one attention", mean("without attn"),
        "the direct path keeps the network alive: one branch of ten can go, and that of layer 2 even gets in the way");
    report.measured(
        "mean cost of leaving out one FFN", mean("without ffn"), "each FFN matters more than each attention");
}

} // namespace chalkgrad::trained_sublayers_experiment
