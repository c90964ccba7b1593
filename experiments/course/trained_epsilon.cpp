// ε of the norms as a knob on trained weights: how large may it be before it is no detail any more (course §5)?
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_epsilon_experiment {

double loss_at(double eps) {
    nn::Checkpoint model = with_blocks([&](nn::BlockOptions& o) { o.norm.eps = eps; });
    model.final_norm().options.eps = eps;
    return loss(model, other_story());
}

void run(Report& report, const ExperimentOptions&) {
    Plot& plot = report.plot({"loss", "Loss by ε; trained with 1e-5", {"ε", true}, {"loss (nats a token)"}});
    for (const double eps : geomspace(1e-12, 10, 27)) plot.at("all norms").add(eps, loss_at(eps));
    judge_trained(report, "eps 1e-5: loss", loss_at(1e-5), "/loss_text2_changed/as_trained");
    judge_trained(report, "eps 1e-2: loss", loss_at(1e-2), "/loss_text2_changed/eps_1e-2");
    judge_trained(report, "eps 1: loss", loss_at(1), "/loss_text2_changed/eps_1");
    const std::vector<double>& y = plot.at("all norms").y;
    const auto best = std::min_element(y.begin(), y.end());
    report.measured("eps with the smallest loss", plot.at("all norms").x[std::size_t(best - y.begin())],
        "three thousand times what it was trained with");
    report.measured("loss at the smallest eps less that at 1e-5", y.front() - loss_at(1e-5),
        "below the mean square of the stream (0.06 of the embedding) ε decides nothing");
}

} // namespace chalkgrad::trained_epsilon_experiment
