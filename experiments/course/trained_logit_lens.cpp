// The logit lens: what final norm and head make of the stream before it is finished (course §4).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_logit_lens_experiment {

void run(Report& report, const ExperimentOptions&) {
    Plot& plot =
        report.plot({"loss", "Loss if the head read the stream there", {"after block"}, {"loss (nats a token)", true}});
    const nn::Checkpoint model = trained_model();
    for (const auto& [name, ids] :
        Rows<std::string, Ids>{{"its own story", own_story()}, {"another story", other_story()}}) {
        const std::vector<Array<double>> streams = model.streams<double>(ids);
        for (std::size_t l = 0; l < streams.size(); ++l)
            plot.at(name).add(double(l), loss(model.read_out(streams[l]), ids));
    }
    const std::vector<double>&own = plot.at("its own story").y, &other = plot.at("another story").y;
    for (std::size_t l = 0; l < own.size(); ++l)
        judge_trained(report, fmt::format("own story: loss after block {}", l), own[l],
            fmt::format("/logit_lens_loss_story_256/{}", l));
    judge_trained(report, "own story: loss", own.back(), "/loss/story_256");
    judge_trained(report, "other story: loss", other.back(), "/loss/text2");
    report.measured("a uniform guess: loss", std::log(512),
        "until block 2 the lens is no better: a tied head reads the embedding as the token itself, not the next one");
    for (std::size_t l = 0; l + 1 < other.size(); ++l)
        report.measured(fmt::format("other story: loss after block {}", l), other[l],
            "blocks 1 to 4 take off far more than the last: the prediction forms step by step");
}

} // namespace chalkgrad::trained_logit_lens_experiment
