// What training made of the gains γ of eleven RMSNorms, all 1 at the start, and what they are worth (course §5).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_gains_experiment {

void run(Report& report, const ExperimentOptions&) {
    nn::Checkpoint model = trained_model();
    Plot& plot = report.plot({"gains", "Trained gains: mean, smallest and largest of 64", {"layer"}, {"γ"}});
    const auto add = [&](const char* kind, double layer, const std::string& name, const nn::Norm& norm) {
        const Array<double>& gamma = norm.gamma.value();
        const auto [low, high] = std::minmax_element(gamma.begin(), gamma.end());
        const double mean = std::accumulate(gamma.begin(), gamma.end(), 0.0) / double(gamma.size());
        for (const auto& [what, value] : Rows<std::string, double>{{"mean", mean}, {"min", *low}, {"max", *high}})
            judge_trained(
                report, fmt::format("{}: {} gain", name, what), value, fmt::format("/gains/{}.weight/{}", name, what));
        plot.at(kind).add(layer, mean, *low, *high);
    };
    for (std::size_t l = 0; l < model.blocks().size(); ++l) {
        const nn::Block& block = model.blocks()[l];
        add("before attention", double(l), fmt::format("model.layers.{}.input_layernorm", l), block.branches[0].norm);
        add("before the FFN", double(l), fmt::format("model.layers.{}.post_attention_layernorm", l),
            block.branches[1].norm);
    }
    add("final", double(model.blocks().size()), "model.norm", model.final_norm());

    report_changed(report, "as_trained", model);
    nn::Checkpoint no_final = trained_model();
    no_final.final_norm() = {};
    report_changed(report, "no_final_norm", no_final);
    const auto ones = [](Array<double>& gamma) { gamma.fill(1); };
    for_each(model, "norm1.gamma", ones);
    report_changed(
        report, "gain 1 before attention", model, "cheap, although single gains reach 2.8: attention stays soft");
    for_each(model, "norm2.gamma", ones);
    report_changed(report, "gain 1 in all blocks", model,
        "the FFN does not forgive it: its gains are 0.57 to 1.04 in the mean, and a gate fed too much opens too far");
    for_each(model, "final.gamma", ones);
    report_changed(report, "gains_one", model);
}

} // namespace chalkgrad::trained_gains_experiment
