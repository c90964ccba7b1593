// The list of experiments. A new one adds one line here, and defines NAME_experiment() in the file of its name.
#include <chalkgrad/experiments/embedded.hpp>
#include <chalkgrad/experiments/experiment.hpp>

#include <fmt/format.h>

namespace chalkgrad {

// In the order of the course.
#define CHALKGRAD_EXPERIMENTS(EXPERIMENT) \
    EXPERIMENT(rank_collapse)             \
    EXPERIMENT(norm_eigenvalues)          \
    EXPERIMENT(forward_scale)             \
    EXPERIMENT(frozen_stack)              \
    EXPERIMENT(outlier_block)             \
    EXPERIMENT(variance_growth)           \
    EXPERIMENT(gradient_depth)            \
    EXPERIMENT(deepnorm_update)           \
    EXPERIMENT(jacobian_product)          \
    EXPERIMENT(logit_scale)               \
    EXPERIMENT(head_coupling)             \
    EXPERIMENT(gate_moments)              \
    EXPERIMENT(dead_gradients)            \
    EXPERIMENT(outlier_sweep)             \
    EXPERIMENT(mixing_gain)               \
    EXPERIMENT(mixing_jacobian)

#define CHALKGRAD_DECLARE(name) Experiment name##_experiment();
CHALKGRAD_EXPERIMENTS(CHALKGRAD_DECLARE)

static Experiment with_listing(Experiment experiment) {
    experiment.listing = embedded(fmt::format("experiments/{}.cpp", experiment.name));
    return experiment;
}

const std::vector<Experiment>& experiments() {
#define CHALKGRAD_ITEM(name) with_listing(name##_experiment()),
    static const std::vector<Experiment> all = {CHALKGRAD_EXPERIMENTS(CHALKGRAD_ITEM)};
    return all;
}

}  // namespace chalkgrad
