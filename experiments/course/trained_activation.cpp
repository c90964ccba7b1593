// The activation of a trained SwiGLU exchanged without training: what a gate's slope is worth (course §8, §9).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_activation_experiment {

double report_with(Report& report, nn::Activation activation, const std::string& name, const std::string& claim = "") {
    return report_changed(
        report, name, with_blocks([&](nn::BlockOptions& o) { o.ffn.activation = activation; }), claim);
}

void run(Report& report, const ExperimentOptions&) {
    using enum nn::Activation;
    report_with(report, silu, "as_trained");
    report_with(report, quick_gelu, "act_quick_gelu");
    report_with(report, gelu, "act_gelu_erf");
    report_with(report, relu, "act_relu");
    report_with(report, gelu_tanh, "act_gelu_tanh", "as GELU: the approximation costs nothing");
    report_with(report, identity, "act_identity", "z in the place of z σ(z): no gate is ever shut");

    // z σ(c z) between SiLU (c = 1) and ReLU (c → ∞): one family, so that only the slope at 0 changes its width.
    Plot& plot = report.plot(
        {"sharpness", "Loss with z σ(c z) in the gate; trained with c = 1", {"c", true}, {"loss (nats a token)"}});
    for (const double c : geomspace(0.25, 64, 17))
        plot.at("z σ(c z)")
            .add(c, loss(with_blocks([&](nn::BlockOptions& o) { o.ffn.swiglu.alpha = c; }), other_story()));
    const Series& curve = plot.at("z σ(c z)");
    for (const std::size_t i : {3, 5, 16})
        report.measured(fmt::format("c = {:.3g}: loss", curve.x[i]), curve.y[i],
            "a wider curve costs next to nothing, a sharper one much, up to what ReLU costs");
}

} // namespace chalkgrad::trained_activation_experiment
