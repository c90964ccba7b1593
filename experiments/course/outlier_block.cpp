// Course §6: one block of the frozen stack gets a down projection m times as large. Who notices, forward and backward?
#include <chalkgrad/experiments/course/block_stack.hpp>
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::outlier_block_experiment {
namespace {

using nn::Placement;

constexpr std::size_t depth = 24, outlier = 12; // the block, from 1

struct Case {
    Placement placement;
    double m;
    StackRun run;
};

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    std::vector<Case> cases;
    for (const Placement placement : {Placement::pre, Placement::peri})
        for (const double m : {1., 10., 100.}) cases.push_back({placement, m, {}});
    parallel_for(cases.size(), [&](std::size_t i) {
        BlockStack stack = draw_stack(options.seed_or(11), depth);
        stack.blocks[outlier - 1].wd *= cases[i].m;
        cases[i].run = run_stack(stack, cases[i].placement, true);
    });

    Plot states{"rms", "Block 12 writes m times as much", {"block"}, {"RMS(x)", true}, {}};
    Plot gradients{"gradients", "Gradient of the down projection", {"block"}, {"‖∂ℓ/∂W_d‖", true}, {}};
    const Tolerance tolerance = relative(1e-10);
    for (const Case& c : cases) {
        const std::string row = fmt::format("{}, m = {}", nn::name(c.placement), c.m);
        judge(report, row, tolerance, {{"RMS after block 24", c.run.rms.back()}, {"largest |x|", c.run.largest}});
        for (const std::size_t l : {1, 12, 24})
            judge(report, row, tolerance, {{fmt::format("gradient of Wd, block {}", l), c.run.gradient[l - 1]}});
        states.series.push_back({row, iota(0, depth), c.run.rms, Mark::line_points});
        gradients.series.push_back({row, iota(1, depth), c.run.gradient, Mark::line_points});
    }
    const auto series_at = [](const Plot& plot, std::string_view name) { // its last point
        return std::find_if(plot.series.begin(), plot.series.end(), [&](const Series& s) {
            return s.name == name;
        })->y.back();
    };
    report.plot(states);
    report.plot(gradients);
    report.measured("pre: gradient in block 24, m = 100 over m = 1",
        series_at(gradients, "pre, m = 100") / series_at(gradients, "pre, m = 1"),
        "no claim: under Pre a massive state drowns what later blocks write, and their gradients with it");
    report.measured("peri: final RMS, m = 100 over m = 1",
        series_at(states, "peri, m = 100") / series_at(states, "peri, m = 1"),
        "Peri-LN paper (arXiv:2502.02732): the output norm removes a branch's scale; what is left is its ε");
}

} // namespace chalkgrad::outlier_block_experiment
