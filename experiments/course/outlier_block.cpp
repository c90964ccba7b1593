// Course §6: one block of the frozen stack gets a down projection m times as large. Who notices, forward and backward?
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::outlier_block_experiment {

constexpr std::size_t depth = 24, outlier = 12; // the block, from 1

struct Case {
    Placement placement;
    double m;
    StackRun run = {};
};

void run(Report& report, const ExperimentOptions& options) {
    std::vector<Case> cases{{Placement::pre, 1}, {Placement::pre, 10}, {Placement::pre, 100}, {Placement::peri, 1},
        {Placement::peri, 10}, {Placement::peri, 100}};
    parallel_for(cases.size(), [&](std::size_t i) {
        BlockStack stack = draw_stack(options.seed_or(11), depth);
        stack.blocks[outlier - 1].wd *= cases[i].m;
        cases[i].run = run_stack(stack, cases[i].placement, true);
    });

    Plot& states = report.plot({"rms", "Block 12 writes m times as much", {"block"}, {"RMS(x)", true}});
    Plot& gradients = report.plot({"gradients", "Gradient of the down projection", {"block"}, {"‖∂ℓ/∂W_d‖", true}});
    for (const auto& [placement, m, run] : cases) {
        const std::string row = fmt::format("{}, m = {}", nn::name(placement), m);
        judge(report, row, relative(1e-10),
            {{"RMS after block 24", run.rms.back()}, {"largest |x|", run.largest},
                {"gradient of Wd, block 1", run.gradient[0]}, {"gradient of Wd, block 12", run.gradient[11]},
                {"gradient of Wd, block 24", run.gradient[23]}});
        states.series.push_back({row, iota(0, depth), run.rms, Mark::line_points});
        gradients.series.push_back({row, iota(1, depth), run.gradient, Mark::line_points});
    }
    report.measured("pre: gradient in block 24, m = 100 over m = 1",
        gradients.at("pre, m = 100").y.back() / gradients.at("pre, m = 1").y.back(),
        "no claim: under Pre a massive state drowns what later blocks write, and their gradients with it");
    report.measured("peri: final RMS, m = 100 over m = 1",
        states.at("peri, m = 100").y.back() / states.at("peri, m = 1").y.back(),
        "Peri-LN paper (arXiv:2502.02732): the output norm removes a branch's scale; what is left is its ε");
}

} // namespace chalkgrad::outlier_block_experiment
