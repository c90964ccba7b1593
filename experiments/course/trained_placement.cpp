// Trained with Pre-LN, run with its norms elsewhere: the weights belong to the wiring (course §6).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_placement_experiment {

void run(Report& report, const ExperimentOptions&) {
    using enum Placement;
    Plot& plot = report.plot({"rms", "RMS of the stream, the same weights", {"after block"}, {"RMS", true}});
    const auto show = [&](const std::string& name, const nn::Checkpoint& model, const std::string& claim = "") {
        report_changed(report, name, model, claim);
        const std::vector<Array<double>> streams = model.streams<double>(other_story());
        for (std::size_t l = 0; l < streams.size(); ++l) plot.at(name).add(double(l), root_mean_square(streams[l]));
    };
    const auto placed = [](Placement p) { return with_blocks([p](nn::BlockOptions& o) { o.placement = p; }); };
    show("as_trained", trained_model());
    show("post", placed(post));
    show("peri_gain_one", placed(peri));
    show("output_only", placed(output_only), "the branches read a stream that no norm has scaled");
    show("no_norms_in_blocks", with_blocks([](nn::BlockOptions& o) { o.norm.kind = nn::NormKind::none; }));
    report.measured("a uniform guess: loss", std::log(512),
        "weights belong to their wiring: of the others only Peri-LN, which keeps the norm before the branch, beats a "
        "guess");
}

} // namespace chalkgrad::trained_placement_experiment
