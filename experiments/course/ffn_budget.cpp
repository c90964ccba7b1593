// Course §9: a gate is a third matrix. At equal parameters the gated FFN is 8/3 d wide, counted on a tape of shapes.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::ffn_budget_experiment {

/// Parameters of an FFN, counted off the tape that ran it.
double parameters(std::size_t d, std::size_t width, bool gated) {
    const Tape tape(Tape::Mode::shapes_only);
    const auto leaf = [&](std::size_t rows, std::size_t columns, bool learned) {
        return tape.leaf<double>({rows, columns}, nullptr, learned);
    };
    const X x = leaf(1, d, false), w1 = leaf(d, width, true), w2 = leaf(width, d, true);
    const X h = gated ? swiglu_act(matmul(x, w1), matmul(x, leaf(d, width, true))) : gelu_erf(matmul(x, w1));
    matmul(h, w2);
    return parameters_on(tape);
}

void run(Report& report, const ExperimentOptions&) {
    constexpr std::size_t d = 768;
    report.number("FFN of width 4 d, d = 768", parameters(d, 4 * d, false), 4718592, exact, "course §9: 2 d · 4 d");
    report.number(
        "SwiGLU of width 8/3 d, d = 768", parameters(d, 8 * d / 3, true), 4718592, exact, "course §9: 3 d · d_ff");
    // The width at which both cost the same, from the cost of one unit.
    for (const std::size_t width : {768, 4096})
        report.number(fmt::format("matching width, d = {}", width),
            parameters(width, 4 * width, false) / parameters(width, 1, true), 8 * double(width) / 3, relative(1e-15),
            "course §9: 8/3 d");

    Plot& plot = report.plot({"budget", "d = 768: the gated FFN meets the budget at 2048, the plain one at 3072",
        {"width d_ff"}, {"parameters (millions)"}});
    for (const double width : linspace(d, 4 * d, 13)) {
        plot.at("W₂ φ(W₁ x): 2 d d_ff", Mark::line).add(width, parameters(d, std::size_t(width), false) / 1e6);
        plot.at("SwiGLU: 3 d d_ff", Mark::line).add(width, parameters(d, std::size_t(width), true) / 1e6);
        plot.at("budget 8 d²", Mark::line).add(width, 8. * d * d / 1e6);
    }
}

} // namespace chalkgrad::ffn_budget_experiment
