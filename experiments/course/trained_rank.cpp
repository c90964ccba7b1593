// Rank collapse in a trained stack: how different its tokens stay, with and without the direct path (course §4).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_rank_experiment {

/// ‖X − 1 x̄ᵀ‖ / ‖X‖: how far the tokens are from being all the same.
double distance(const X& x) { return norm((x - mean(x, 0, true)).value()) / norm(x.value()); }

/// Before the first block, then after each: h + F(h), or F alone, of attention alone or of all.
std::vector<double> distances(const nn::Checkpoint& model, bool skip, bool with_ffn) {
    const Tape tape;
    nn::Binding<double> on(tape);
    X x = model.model.embed(on, other_story());
    std::vector<double> all{distance(x)};
    for (const nn::Block& block : model.blocks()) {
        const auto add = [&](const X& y) { x = skip ? x + y : y; };
        add(std::get<nn::GroupedAttention>(block.attention)(on, block.branches[0].norm(on, x)));
        if (with_ffn) add(std::get<nn::Ffn>(block.ffn)(on, block.branches[1].norm(on, x)));
        all.push_back(distance(x));
    }
    return all;
}

void run(Report& report, const ExperimentOptions& options) {
    const nn::Checkpoint untrained = untrained_model(options.rng(15)), trained = trained_model();
    Plot& plot = report.plot(
        {"distance", "Distance of the tokens from being all equal", {"after block"}, {"‖X − 1x̄ᵀ‖/‖X‖", true}});
    for (const auto& [which, model] : {std::pair("trained", trained), std::pair("untrained", untrained)})
        for (const auto& [how, skip, ffn] : Rows<const char*, bool, bool>{
                 {"as it is", true, true}, {"no skips", false, true}, {"attention alone", false, false}}) {
            const std::string name = fmt::format("{}, {}", which, how);
            const std::vector<double> r = distances(model, skip, ffn);
            plot.series.push_back({name, iota(0, r.size() - 1), r, Mark::line_points});
            report.measured(name + ": distance after the last block", r.back(),
                "attention alone makes tokens alike, trained or not; FFNs and skips keep a trained stack apart");
        }
    // The recurrence above is the model.
    report.number("trained, as it is: distance over that of the model's own last state",
        plot.at("trained, as it is").y.back() /
            distance(Tape().constant(trained.streams<double>(other_story()).back())),
        1, relative(1e-12), "the model run as a whole");
}

} // namespace chalkgrad::trained_rank_experiment
