// The list of experiments in the order of the course: name, section, question. NAME.cpp defines NAME_experiment::run.
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>

#include <fmt/format.h>

namespace chalkgrad {

// clang-format off
#define CHALKGRAD_EXPERIMENTS(EXPERIMENT) \
    EXPERIMENT(root_mean_square, "1", "What does the root mean square see that the mean does not?") \
    EXPERIMENT(published_figures, "2", "Which of the cited figures need training or other hardware?") \
    EXPERIMENT(direct_path, "4", "Does the residual connection keep the Jacobian well conditioned?") \
    EXPERIMENT(rank_collapse, "4", \
        "What happens to the tokens in a stack of attention layers without a residual stream?") \
    EXPERIMENT(trained_rank, "4", "Do the tokens of a trained stack fall together, with and without its skips?") \
    EXPERIMENT(trained_sublayers, "4", "Which sublayer of a trained network can be left out?") \
    EXPERIMENT(trained_logit_lens, "4", "Where in a trained network is the next token decided?") \
    EXPERIMENT(trained_jacobians, "4", "How do the Jacobians of trained and untrained blocks stretch?") \
    EXPERIMENT(two_norms, "5", "What do LayerNorm and RMSNorm make of the same vector?") \
    EXPERIMENT(epsilon_gain, "5", "How much can a norm amplify a small input?") \
    EXPERIMENT(scale_invariance, "5", "Is RMSNorm indifferent to the scale of its input?") \
    EXPERIMENT(norm_eigenvalues, "5", "How does RMSNorm stretch a gradient, by the size of its input?") \
    EXPERIMENT(low_precision, "5", "Where must a low-precision norm be promoted: before or after squaring?") \
    EXPERIMENT(wrong_axis, "5", "How does a reduction over the wrong axis show?") \
    EXPERIMENT(rms_norm_parity, "5", "Do the course's listing and our RMSNorm agree, values and gradients?") \
    EXPERIMENT(trained_gains, "5", "What did training make of the gains, and what are they worth?") \
    EXPERIMENT(trained_epsilon, "5", "How large may ε be in a trained network?") \
    EXPERIMENT(trained_precision, "5", "What do 16 bits cost a trained network, stored and computed?") \
    EXPERIMENT(forward_scale, "6", "How does the scale of the state grow with depth, by the place of the norm?") \
    EXPERIMENT(placement_scale, "6", "What do Peri-LN, an output norm and DeepNorm do to the same stack?") \
    EXPERIMENT(frozen_stack, "6", \
        "What do Pre and Peri make of one frozen attention-FFN stack, and of larger weights?") \
    EXPERIMENT(outlier_block, "6", "One block writes a hundred times too much: what do Pre and Peri make of it?") \
    EXPERIMENT(variance_growth, "6", "How fast does the residual stream grow with depth at initialisation?") \
    EXPERIMENT(gradient_depth, "6", \
        "At initialisation, how large is the gradient of the last layer, by depth and placement?") \
    EXPERIMENT(deepnorm_update, "6", "How far does one gradient step move the output of a deep stack?") \
    EXPERIMENT(jacobian_product, "6", "What does a deep stack do to a gradient: ∂h_L/∂h_0 by the place of the norm?") \
    EXPERIMENT(trained_growth, "6", "How does the stream of a trained network grow?") \
    EXPERIMENT(trained_placement, "6", "What do weights trained with Pre-LN do under another placement?") \
    EXPERIMENT(trained_gradients, "6", "How large are the gradients in a trained network, layer by layer?") \
    EXPERIMENT(two_heads, "7", "Does one head's size change what another head attends to?") \
    EXPERIMENT(head_coupling, "7", "Does the size of one head change the scores of another?") \
    EXPERIMENT(logit_scale, "7", "Queries and keys grow by c: does attention stay soft?") \
    EXPERIMENT(soft_cap, "7", "What does a soft cap do to scores and to their gradients?") \
    EXPERIMENT(trained_scores, "7", "What do Q/K norms and soft caps do to attention that was trained without them?") \
    EXPERIMENT(trained_attention, "7", "What do trained heads look at?") \
    EXPERIMENT(trained_positions, "7", "How far back must a trained network see?") \
    EXPERIMENT(activation_gallery, "8", "How do the activations differ, and how good is z σ(1.702 z) for GELU?") \
    EXPERIMENT(trained_activation, "8", "Can the activation of a trained gate be exchanged?") \
    EXPERIMENT(ffn_budget, "9", "How wide is a gated FFN that costs what a plain one costs?") \
    EXPERIMENT(gpt_oss_slice, "9", "What does the clamped activation of gpt-oss do when gate and up agree?") \
    EXPERIMENT(swiglu_parity, "9", "Do the course's listing and our clamped SwiGLU agree, values and gradients?") \
    EXPERIMENT(gate_moments, "9", "How much of a unit signal does an activation let through, forward and backward?") \
    EXPERIMENT(dead_gradients, "9", "How many inputs of gpt-oss's clamped gate get no gradient?") \
    EXPERIMENT(llama_ledger, "10", "Where are the 8,030,261,248 parameters of Llama-3.1-8B?") \
    EXPERIMENT(dyt_fit, "11", "Which α makes tanh(α x) most like a norm, and does it carry over to DyISRU?") \
    EXPERIMENT(outlier_sweep, "11", "An outlier grows: do DyT and DyISRU answer as RMSNorm does?") \
    EXPERIMENT(stream_mixing, "12", "What does a doubly stochastic matrix keep when it mixes streams?") \
    EXPERIMENT(sinkhorn_residuals, "12", "How doubly stochastic is a matrix after 1, 20 and 100 Sinkhorn iterations?") \
    EXPERIMENT(sinkhorn_gradient, "12", "When may Sinkhorn's gradient be taken from its limit?") \
    EXPERIMENT(mixing_gain, "12", "Over 60 layers, how much does the mixing of residual streams amplify?") \
    EXPERIMENT(mixing_jacobian, "12", \
        "Does input-dependent mixing amplify gradients although its matrix never amplifies a value?") \
    EXPERIMENT(moving_mixer, "12", "How much of the gradient is lost when A(X) is treated as fixed?") \
    EXPERIMENT(packed_gates, "15", "Does it matter how gate and up are packed?")
// clang-format on

#define CHALKGRAD_DECLARE(name, section, question)   \
    namespace name##_experiment {                    \
        void run(Report&, const ExperimentOptions&); \
    }
CHALKGRAD_EXPERIMENTS(CHALKGRAD_DECLARE)

const std::vector<Experiment>& experiments() {
#define CHALKGRAD_ITEM(name, section, question) \
    {#name, section, question, name##_experiment::run, std::string(embedded("experiments/course/" #name ".cpp"))},
    static const std::vector<Experiment> all = {CHALKGRAD_EXPERIMENTS(CHALKGRAD_ITEM)};
    return all;
}

} // namespace chalkgrad
