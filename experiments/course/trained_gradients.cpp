// Gradients in a trained network: norms by layer and by matrix, from one backward through all of it (course §6).
#include <chalkgrad/experiments/course/trained.hpp>

namespace chalkgrad::trained_gradients_experiment {

constexpr std::array<std::pair<const char*, const char*>, 9> matrices{{{"attention.wq", "self_attn.q_proj"},
    {"attention.wk", "self_attn.k_proj"}, {"attention.wv", "self_attn.v_proj"}, {"attention.wo", "self_attn.o_proj"},
    {"ffn.w_gate", "mlp.gate_proj"}, {"ffn.w_up", "mlp.up_proj"}, {"ffn.w_down", "mlp.down_proj"},
    {"norm1.gamma", "input_layernorm"}, {"norm2.gamma", "post_attention_layernorm"}}};

/// Norms of the gradients of the loss: of every parameter by name, and of the stream as "stream.0", ….
std::map<std::string, double> gradients(const nn::Checkpoint& model, const Ids& ids) {
    const Tape tape;
    nn::Binding<double> on(tape);
    std::vector<X> stream{model.model.embed(on, ids)};
    for (const nn::Block& block : model.blocks()) stream.push_back(block(on, stream.back()));
    for (const X& x : stream) x.keep_grad();
    cross_entropy(model.model.score(on, model.final_norm()(on, stream.back())), next_of(ids)).backward();
    std::map<std::string, double> norms;
    for (const auto& [name, parameter] : nn::parameters_of(model.model)) norms[name] = norm(on(parameter).grad());
    for (std::size_t l = 0; l < stream.size(); ++l) norms[fmt::format("stream.{}", l)] = norm(stream[l].grad());
    return norms;
}

void run(Report& report, const ExperimentOptions& options) {
    const auto trained = gradients(trained_model(), other_story()),
               untrained = gradients(untrained_model(options.rng(15)), other_story());
    const std::string of = "/gradient_norm_text2/model.";
    judge_trained(report, "embedding", trained.at("embedding"), of + "embed_tokens.weight");
    judge_trained(report, "final gain", trained.at("final.gamma"), of + "norm.weight");
    Plot& stream = report.plot({"stream", "Gradient of the stream", {"after block"}, {"‖∂loss/∂h‖", true}});
    Plot& weights = report.plot({"weights", "Gradient of trained matrices", {"layer"}, {"‖∂loss/∂W‖", true}});
    for (std::size_t l = 0; l <= 5; ++l) {
        const std::string at = fmt::format("stream.{}", l);
        judge_trained(report, at, trained.at(at), fmt::format("/stream_gradient_norm_text2/{}", l));
        stream.at("trained").add(double(l), trained.at(at));
        stream.at("untrained").add(double(l), untrained.at(at));
        if (l < 5)
            for (const auto& [ours, theirs] : matrices) {
                const std::string name = fmt::format("layers.{}.{}", l, ours);
                judge_trained(report, name, trained.at(name), fmt::format("{}layers.{}.{}.weight", of, l, theirs));
                if (name.find("gamma") == std::string::npos) weights.at(ours).add(double(l), trained.at(name));
            }
    }
    for (const auto& [name, g] : {std::pair("trained", trained), std::pair("untrained", untrained)})
        report.measured(fmt::format("{}: gradient of the stream, embedding over last block", name),
            g.at("stream.0") / g.at("stream.5"),
            "the direct path carries it down; a norm divides it by the stream that it reads, which is smallest below");
}

} // namespace chalkgrad::trained_gradients_experiment
