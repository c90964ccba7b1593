// Course §9: a gate is a third matrix. At equal parameters the gated FFN is 8/3 d wide instead of 4 d. Counted on a
// tape without numbers.
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>

#include <fmt/format.h>

namespace chalkgrad::ffn_budget_experiment {
namespace {

/// Parameters of an FFN, counted off the tape that ran it.
std::size_t parameters(std::size_t d, std::size_t width, bool gated) {
    const Tape tape(Tape::Mode::shapes_only);
    const auto leaf = [&](std::size_t rows, std::size_t columns, bool learned) {
        return tape.leaf<double>({rows, columns}, nullptr, learned);
    };
    const Var<double> x = leaf(1, d, false), w1 = leaf(d, width, true), w2 = leaf(width, d, true);
    const Var<double> h = gated ? swiglu_act(matmul(x, w1), matmul(x, leaf(d, width, true))) : gelu_erf(matmul(x, w1));
    matmul(h, w2);
    std::size_t count = 0;
    for (std::size_t i = 0; i < tape.size(); ++i)
        if (tape.line(i).kind == Line::Kind::variable) count += tape.line(i).shape.size();
    return count;
}

void run(Report& report, const ExperimentOptions&) {
    constexpr std::size_t d = 768;
    report.number("FFN of width 4 d, d = 768", double(parameters(d, 4 * d, false)), 4718592, Tolerance::exact(),
        "course §9: 2 d · 4 d");
    report.number("SwiGLU of width 8/3 d, d = 768", double(parameters(d, 8 * d / 3, true)), 4718592, Tolerance::exact(),
        "course §9: 3 d · d_ff");
    // The width at which both cost the same, from the cost of one unit.
    for (const std::size_t width : {768, 4096})
        report.number(fmt::format("matching width, d = {}", width),
            double(parameters(width, 4 * width, false)) / double(parameters(width, 1, true)), 8 * double(width) / 3,
            Tolerance::relative(1e-15), "course §9: 8/3 d");

    Series plain{"W₂ φ(W₁ x): 2 d d_ff"}, gated{"SwiGLU: 3 d d_ff"}, budget{"budget 8 d²"};
    for (std::size_t width = d; width <= 4 * d; width += d / 4) {
        plain.add(double(width), double(parameters(d, width, false)) / 1e6);
        gated.add(double(width), double(parameters(d, width, true)) / 1e6);
        budget.add(double(width), 8. * d * d / 1e6);
    }
    report.plot({"budget", "d = 768: the gated FFN meets the budget at 2048, the plain one at 3072", {"width d_ff"},
        {"parameters (millions)"}, {plain, gated, budget}});
}

} // namespace

Experiment experiment() {
    return {"ffn_budget", "9", "How wide is a gated FFN that costs what a plain one costs?", run};
}

} // namespace chalkgrad::ffn_budget_experiment
