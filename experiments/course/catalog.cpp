// The list of experiments. A new one adds one line here, and defines NAME_experiment::experiment() in the file of its name.
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>

#include <fmt/format.h>

namespace chalkgrad {

// In the order of the course.
#define CHALKGRAD_EXPERIMENTS(EXPERIMENT) \
    EXPERIMENT(root_mean_square)          \
    EXPERIMENT(published_figures)         \
    EXPERIMENT(direct_path)               \
    EXPERIMENT(rank_collapse)             \
    EXPERIMENT(two_norms)                 \
    EXPERIMENT(epsilon_gain)              \
    EXPERIMENT(scale_invariance)          \
    EXPERIMENT(norm_eigenvalues)          \
    EXPERIMENT(low_precision)             \
    EXPERIMENT(wrong_axis)                \
    EXPERIMENT(rms_norm_parity)           \
    EXPERIMENT(forward_scale)             \
    EXPERIMENT(placement_scale)           \
    EXPERIMENT(frozen_stack)              \
    EXPERIMENT(outlier_block)             \
    EXPERIMENT(variance_growth)           \
    EXPERIMENT(gradient_depth)            \
    EXPERIMENT(deepnorm_update)           \
    EXPERIMENT(jacobian_product)          \
    EXPERIMENT(two_heads)                 \
    EXPERIMENT(head_coupling)             \
    EXPERIMENT(logit_scale)               \
    EXPERIMENT(soft_cap)                  \
    EXPERIMENT(activation_gallery)        \
    EXPERIMENT(ffn_budget)                \
    EXPERIMENT(gpt_oss_slice)             \
    EXPERIMENT(swiglu_parity)             \
    EXPERIMENT(gate_moments)              \
    EXPERIMENT(dead_gradients)            \
    EXPERIMENT(llama_ledger)              \
    EXPERIMENT(dyt_fit)                   \
    EXPERIMENT(outlier_sweep)             \
    EXPERIMENT(stream_mixing)             \
    EXPERIMENT(sinkhorn_residuals)        \
    EXPERIMENT(sinkhorn_gradient)         \
    EXPERIMENT(mixing_gain)               \
    EXPERIMENT(mixing_jacobian)           \
    EXPERIMENT(moving_mixer)              \
    EXPERIMENT(packed_gates)

#define CHALKGRAD_DECLARE(name)   \
    namespace name##_experiment { \
        Experiment experiment();  \
    }
CHALKGRAD_EXPERIMENTS(CHALKGRAD_DECLARE)

static Experiment with_listing(Experiment experiment) {
    experiment.listing = embedded(fmt::format("experiments/course/{}.cpp", experiment.name));
    return experiment;
}

const std::vector<Experiment>& experiments() {
#define CHALKGRAD_ITEM(name) with_listing(name##_experiment::experiment()),
    static const std::vector<Experiment> all = {CHALKGRAD_EXPERIMENTS(CHALKGRAD_ITEM)};
    return all;
}

} // namespace chalkgrad
