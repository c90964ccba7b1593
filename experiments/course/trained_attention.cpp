// What 40 trained heads look at: entropy of their weights, and how much goes to the first token (course §7).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_attention_experiment {

struct Heads {
    std::vector<double> entropy, on_first; ///< by layer and head
};

Heads heads_of(const nn::Checkpoint& model, const Ids& ids) {
    Heads all;
    const std::vector<Array<double>> streams = model.streams<double>(ids);
    for (std::size_t l = 0; l < model.blocks().size(); ++l) {
        const Tape tape;
        nn::Binding<double> on(tape);
        const Array<double> a = model.blocks()[l].attention_weights(on, tape.constant(streams[l])).value();
        const std::size_t n = ids.size();
        for (std::size_t h = 0; h < a.shape(0); ++h) {
            double entropy = 0, on_first = 0;
            for (std::size_t t = 0; t < n; ++t) {
                for (std::size_t s = 0; s <= t; ++s)
                    if (a(h, t, s) > 0) entropy -= a(h, t, s) * std::log(a(h, t, s)) / double(n);
                if (t > 0) on_first += a(h, t, 0) / double(n - 1);
            }
            all.entropy.push_back(entropy);
            all.on_first.push_back(on_first);
        }
    }
    return all;
}

void run(Report& report, const ExperimentOptions& options) {
    const Ids ids = own_story();
    const std::size_t heads = 8, layers = 5;
    const Heads trained = heads_of(trained_model(), ids), untrained = heads_of(untrained_model(options.rng(15)), ids);
    for (std::size_t i = 0; i < layers * heads; ++i) {
        const std::string where = fmt::format("layer {}, head {}", i / heads, i % heads);
        judge_trained(report, where + ": entropy", trained.entropy[i],
            fmt::format("/attention_entropy_nats/{}/{}", i / heads, i % heads));
        judge_trained(report, where + ": weight on the first token", trained.on_first[i],
            fmt::format("/attention_mass_on_bos/{}/{}", i / heads, i % heads));
    }
    report.heat_map({"entropy", "Entropy of trained heads", "head", "layer", "nats", layers, heads, trained.entropy});
    report.heat_map(
        {"first", "Weight on the first token", "head", "layer", "mean weight", layers, heads, trained.on_first});
    const auto mean = [](const std::vector<double>& x) {
        return std::accumulate(x.begin(), x.end(), 0.0) / double(x.size());
    };
    double uniform = 0;
    for (std::size_t t = 1; t <= ids.size(); ++t) uniform += std::log(double(t)) / double(ids.size());
    report.measured("mean entropy, trained", mean(trained.entropy),
        fmt::format("uniform attention would have {:.2f} nats: trained heads choose", uniform));
    report.measured("mean entropy, untrained", mean(untrained.entropy), "close to uniform");
    report.measured("mean weight on the first token, trained", mean(trained.on_first),
        "no sink here, less than untrained heads give it; Xiao et al. 2023 (arXiv:2309.17453) find one in large "
        "models");
    report.measured("mean weight on the first token, untrained", mean(untrained.on_first), "1/t, averaged");
}

} // namespace chalkgrad::trained_attention_experiment
