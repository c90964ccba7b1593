// Course §2: what its history cites and no run without training or other hardware can show.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::published_figures_experiment {

void run(Report& report, const ExperimentOptions&) {
    report.not_reproduced("RMSNorm saves 7–64 % of the running time (course §2)",
        "a range over the systems, models and hardware of Zhang and Sennrich 2019; it is no property of the operation");
    report.not_reproduced(
        "warm-up that Pre-LN can do without (course §2)", "a statement on training runs (Xiong et al. 2020)");
    report.not_reproduced("Dynamic Erf with Muon, 1B models, 1,000 steps (course §11)", "a training run");
}

} // namespace chalkgrad::published_figures_experiment
