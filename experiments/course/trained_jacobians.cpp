// Singular values of whole blocks' Jacobians at real activations, trained and untrained (course §4).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_jacobians_experiment {

constexpr std::size_t tokens = 8; // × 64 features: each Jacobian is 512 × 512

std::vector<std::vector<double>> spectra(const nn::Checkpoint& model) {
    const std::vector<Array<double>> streams = model.streams<double>(first_of(other_story(), tokens));
    std::vector<std::vector<double>> all(model.blocks().size());
    parallel_for(all.size(), [&](std::size_t l) {
        const Tape tape;
        nn::Binding<double> on(tape);
        const X x = tape.variable(streams[l]);
        all[l] = singular_values(jacobian(model.blocks()[l](on, x), x));
    });
    return all;
}

void run(Report& report, const ExperimentOptions& options) {
    Plot& plot = report.plot({"spectrum", "Singular values of ∂(block)/∂h", {"number, largest first"}, {"σ", true}});
    for (const auto& [name, model] : Rows<std::string, nn::Checkpoint>{
             {"trained", trained_model()}, {"untrained", untrained_model(options.rng(15))}}) {
        const auto all = spectra(model);
        for (std::size_t l = 0; l < all.size(); ++l) {
            const std::vector<double>& s = all[l];
            plot.series.push_back({fmt::format("{}, block {}", name, l), iota(1, s.size()), s});
            const std::array<double, 3> told{s.front(), s[s.size() / 2], s.back()};
            const std::array<const char*, 3> words{"largest", "middle", "smallest"};
            for (std::size_t i = 0; i < 3; ++i)
                if (name == "trained")
                    judge_trained(report, fmt::format("block {}: {} singular value", l, words[i]), told[i],
                        fmt::format("/block_jacobian_singular_values_trained/{}/{}", l, i), 1e-7);
                else if (i != 1)
                    report.measured(fmt::format("untrained, block {}: {} singular value", l, words[i]), told[i],
                        i == 0 ? "its norm divides by the stream, which grows: untrained blocks calm down with depth, "
                                 "trained ones do not"
                               : "I + J_F comes close to 0 in some direction in every trained block, and less and less "
                                 "in untrained ones");
        }
    }
}

} // namespace chalkgrad::trained_jacobians_experiment
