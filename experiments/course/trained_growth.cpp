// How the residual stream of a trained Pre-LN network grows, beside the same network before training (course §6).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_growth_experiment {

void run(Report& report, const ExperimentOptions& options) {
    const Ids ids = own_story();
    Plot& rms = report.plot({"rms", "RMS of the stream over 256 tokens", {"after block"}, {"RMS", true}});
    Plot& outlier = report.plot({"largest", "Largest |x| over the RMS", {"after block"}, {"max|x|/RMS"}});
    for (const auto& [name, model] : Rows<std::string, nn::Checkpoint>{
             {"trained", trained_model()}, {"untrained", untrained_model(options.rng(15))}}) {
        const std::vector<Array<double>> streams = model.streams<double>(ids);
        for (std::size_t l = 0; l < streams.size(); ++l) {
            rms.at(name).add(double(l), root_mean_square(streams[l]));
            outlier.at(name).add(double(l), largest(streams[l]) / root_mean_square(streams[l]));
        }
        report.measured(name + ": RMS after the last block over that of the embedding",
            rms.at(name).y.back() / rms.at(name).y.front(),
            "Pre-LN lets the stream grow: each block adds and none divides");
    }
    for (std::size_t l = 0; l < rms.at("trained").x.size(); ++l) {
        judge_trained(report, fmt::format("trained: RMS after block {}", l), rms.at("trained").y[l],
            fmt::format("/rms_by_layer_story_256/{}", l));
        judge_trained(report, fmt::format("trained: largest |x| over RMS after block {}", l),
            outlier.at("trained").y[l], fmt::format("/largest_over_rms_by_layer/{}/0", l));
    }
    report.measured("trained: growth of the RMS from block 1 to 5, power of the depth",
        fit_power_law(iota(1, 5), {rms.at("trained").y.begin() + 1, rms.at("trained").y.end()}),
        "independent branches would give 1/2, aligned ones 1");
}

} // namespace chalkgrad::trained_growth_experiment
