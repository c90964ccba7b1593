// Norms of queries and keys, and soft caps, put into a trained attention that had neither (course §7).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_scores_experiment {

void run(Report& report, const ExperimentOptions&) {
    const auto capped = [](double cap) {
        return with_blocks([cap](nn::BlockOptions& o) { o.attention.softcap = cap; });
    };
    const auto normed = [](double scale) {
        return with_blocks([scale](nn::BlockOptions& o) {
            o.attention.qk_norm = {.axis = nn::QkAxis::per_head, .norm = {.eps = 1e-5}};
            o.attention.scale = scale / std::sqrt(double(o.d / o.attention.heads));
        });
    };
    const double plain = report_changed(report, "as_trained", trained_model());
    for (const int cap : {50, 5, 1}) report_changed(report, fmt::format("softcap_{}", cap), capped(cap));
    report_changed(report, "qk_norm_gain_one", normed(1));

    Plot& caps = report.plot({"softcap", "Loss by the cap on the scores", {"cap", true}, {"loss (nats a token)"}});
    for (const double cap : geomspace(0.5, 128, 17)) {
        caps.at("capped").add(cap, loss(capped(cap), other_story()));
        caps.at("as trained", Mark::line).add(cap, plain);
    }
    Plot& norms = report.plot({"qk_norm", "Loss with normed queries and keys, by a common factor of the scores",
        {"factor", true}, {"loss (nats a token)"}});
    for (const double scale : geomspace(0.25, 256, 21)) {
        norms.at("Q/K norm").add(scale, loss(normed(scale), other_story()));
        norms.at("as trained", Mark::line).add(scale, plain);
    }
    const std::vector<double>& y = norms.at("Q/K norm").y;
    const auto best = std::min_element(y.begin(), y.end());
    report.measured("Q/K norm: factor with the smallest loss", norms.at("Q/K norm").x[std::size_t(best - y.begin())],
        "normed scores are far too soft: trained queries and keys are long where a head picks one key");
    report.measured("Q/K norm: smallest loss", *best,
        "one factor gives back two thirds of what the norm cost; the rest stood in the lengths of single queries and "
        "keys");
}

} // namespace chalkgrad::trained_scores_experiment
