// Course §6, Peri-LN (Kim et al. 2025): one frozen stack of attention and FFN, five placements, three weight scales.
#include <chalkgrad/experiments/course/block_stack.hpp>
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::frozen_stack_experiment {
namespace {

using nn::Placement;

constexpr std::size_t depth = 24;

struct Case {
    double scale; // of every weight
    std::optional<Placement> placement;
    StackRun run;

    std::string name() const { return fmt::format("{}, s = {}", placement_name(placement), scale); }
    bool has_gradient() const { return placement && *placement != Placement::output_only; }
    bool is_chaotic() const { return scale == 4 && placement == Placement::post; }
};

std::vector<Case> run_cases(uint128 seed) {
    std::vector<Case> cases;
    for (const double scale : {1., 2., 4.})
        for (const auto placement : std::vector<std::optional<Placement>>{
                 Placement::pre, Placement::peri, Placement::output_only, Placement::post, std::nullopt})
            cases.push_back({scale, placement, {}});
    parallel_for(cases.size(), [&](std::size_t i) {
        cases[i].run = run_stack(draw_stack(seed, depth, cases[i].scale), cases[i].placement, cases[i].has_gradient());
    });
    return cases;
}

void judge_case(Report& report, const Case& c) {
    // Saturated attention under Post is chaotic at s = 4: noise of 1e-15 in the weights moves its gradients by 2e-4.
    const Tolerance forward = relative(c.is_chaotic() ? 1e-4 : 1e-9);
    const Tolerance gradient = relative(c.is_chaotic() ? 0.5 : 1e-6);
    for (const std::size_t l : {0, 1, 6, 12, 24})
        judge(report, c.name(), forward, {{fmt::format("RMS after block {}", l), c.run.rms[l]}});
    judge(report, c.name(), forward, {{"largest |x|", c.run.largest}});
    if (!c.has_gradient()) return;
    for (const std::size_t l : {1, 12, 24})
        judge(report, c.name(), gradient, {{fmt::format("gradient of Wd, block {}", l), c.run.gradient[l - 1]}});
}

void draw_pictures(Report& report, const std::vector<Case>& cases) {
    Plot placements{"placements", "One frozen stack (s = 1); without a norm it leaves the picture", {"block"},
        {"RMS(x)", true}, {}};
    Plot scales{
        "scales", "The same weights times s: Pre grows with them, Peri does not", {"block"}, {"RMS(x)", true}, {}};
    Plot gradients{"gradients", "Gradient of the down projection", {"block"}, {"‖∂ℓ/∂W_d‖", true}, {}};
    const std::vector<double> states = iota(0, depth), blocks = iota(1, depth);
    for (const Case& c : cases) {
        if (c.scale == 1) {
            Series& series = placements.series.emplace_back(
                Series{placement_name(c.placement), states, c.run.rms, Mark::line_points});
            for (double& rms : series.y)
                if (rms > 100) rms = std::numeric_limits<double>::quiet_NaN(); // a gap
        }
        if (c.placement == Placement::pre || c.placement == Placement::peri)
            scales.series.push_back({c.name(), states, c.run.rms, Mark::line_points});
        if (c.has_gradient() && c.scale != 2)
            gradients.series.push_back({c.name(), blocks, c.run.gradient, Mark::line_points});
    }
    for (const Plot& plot : {placements, scales, gradients}) report.plot(plot);
    for (const Placement placement : {Placement::pre, Placement::peri}) {
        const Tape tape(Tape::Mode::shapes_only);
        const auto x = tape.leaf<double>({BlockStack::tokens, BlockStack::width}, nullptr, true, "x");
        const auto y = nn::stand_in_block(placement, x);
        report.graph(nn::name(placement), to_dot(graph_of(tape, {x.line()}, {y.line()}), nn::formula(placement)));
    }
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    const std::vector<Case> cases = run_cases(options.seed_or(11));
    Table table{"summary", {"placement", "s", "RMS after block 24", "max |x|"}, {}};
    for (const Case& c : cases) {
        judge_case(report, c);
        table.rows.push_back({placement_name(c.placement), c.scale, c.run.rms.back(), c.run.largest});
    }
    report.table(table);
    draw_pictures(report, cases);

    const auto run_of = [&](std::optional<Placement> placement, double scale) -> const StackRun& {
        return std::find_if(cases.begin(), cases.end(), [&](const Case& c) {
            return c.placement == placement && c.scale == scale;
        })->run;
    };
    const auto growth = [&](Placement placement) {
        return run_of(placement, 4).rms.back() / run_of(placement, 1).rms.back();
    };
    report.measured("RMS after block 24, s = 4 over s = 1, pre", growth(Placement::pre),
        "Peri-LN paper (arXiv:2502.02732): under Pre-LN the size of a branch is not bounded");
    report.measured("RMS after block 24, s = 4 over s = 1, peri", growth(Placement::peri),
        "Peri-LN paper: the output norm bounds what each branch adds");
    report.measured("gradient of Wd in block 1, peri, s = 4", run_of(Placement::peri, 4).gradient.front(),
        "no claim: the bound is one of the forward pass; saturated attention still makes this large");
    report.measured("RMS after block 6, none, s = 1", run_of(std::nullopt, 1).rms[6],
        "SwiGLU is quadratic: without a norm each block about squares the state, until double overflows");
}

} // namespace chalkgrad::frozen_stack_experiment
