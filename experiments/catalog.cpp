// The list of experiments. A new one adds one line here, and defines NAME_experiment() in the file of its name.
#include <chalkgrad/experiments/experiment.hpp>

namespace chalkgrad {

// In the order of the course.
#define CHALKGRAD_EXPERIMENTS(EXPERIMENT) EXPERIMENT(forward_scale)

#define CHALKGRAD_DECLARE(name) Experiment name##_experiment();
CHALKGRAD_EXPERIMENTS(CHALKGRAD_DECLARE)

const std::vector<Experiment>& experiments() {
#define CHALKGRAD_ITEM(name) name##_experiment(),
    static const std::vector<Experiment> all = {CHALKGRAD_EXPERIMENTS(CHALKGRAD_ITEM)};
    return all;
}

}  // namespace chalkgrad
