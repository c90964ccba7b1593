// Peri-LN paper, course §6: at initialisation the variance of the residual stream grows linearly with depth.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::variance_growth_experiment {

constexpr std::size_t depth = 48, seeds = 5;

void run(Report& report, const ExperimentOptions& options) {
    const std::vector<double> blocks = iota(0, depth);
    Plot& plot = report.plot({"variance", "Mean square of the state, mean of 5 seeds", {"block"}, {"RMS(x)²"}});
    for (const Placement placement : {Placement::pre, Placement::peri}) {
        const std::string name = nn::name(placement);
        const std::vector<double> mean = mean_over_seeds(options.seed_or(300), seeds, [&](uint128 seed) {
            std::vector<double> variance = run_stack(draw_stack(seed, depth), placement).rms;
            for (double& each : variance) each *= each;
            return variance;
        });
        const double per_block = slope(blocks, mean); // the mean of the slopes is the slope of the mean
        judge(report, name, relative(1e-10),
            {{"slope of RMS^2 per block", per_block}, {"RMS^2 after block 48", mean.back()}});
        report.measured(name + ": RMS^2 per block", per_block,
            placement == Placement::peri
                ? "two branches of variance 1, if they are not correlated: 2"
                : "Peri-LN paper: linear growth under Pre-LN at initialisation; the slope is the branches' variance");
        plot.series.push_back({name, blocks, mean, Mark::line_points});
    }
    report.not_reproduced("growth of the variance during training", "it takes training runs");
}

} // namespace chalkgrad::variance_growth_experiment
