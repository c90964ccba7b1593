// Course §6: the stack of forward_scale under three more placements, with what chance alone predicts.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::placement_scale_experiment {

constexpr std::size_t depth = 36, d = 256;

double rms(const X& h) { return sqrt(mean(square(h))).item(); }

/// One step of a placement, F(h) = W h and DeepNorm's constants for this depth.
X step(Placement placement, const X& h, const X& w) {
    const nn::DeepNorm deep = nn::deepnorm(depth);
    const auto f = [&](const X& x) {
        return placement == Placement::deepnorm ? deep.beta * matmul(w, x) : matmul(w, x);
    };
    const auto norm = [](const X& x, int) { return rms_norm_floor(x); };
    return nn::residual(placement, h, f, norm, deep.alpha);
}

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(5);
    Tape tape;
    const X h0 = tape.constant(rng.standard_normal({d}), "h0");
    const std::vector<X> stack = random_matrices(tape, rng, depth, d);

    Plot& plot = report.plot({"rms", "Five placements on one input and one stack", {"residual step"}, {"RMS(h)"}});
    for (const auto& [placement, numpy] :
        Rows<Placement, double>{{Placement::pre, 6.423482855953835}, {Placement::peri, 6.330519072959164},
            {Placement::output_only, 6.330519072959164}, {Placement::post, 1}, {Placement::deepnorm, 1}}) {
        Series& curve = plot.at(nn::name(placement));
        curve.add(0, rms(h0));
        X h = h0;
        for (std::size_t l = 0; l < depth; ++l) {
            h = step(placement, h, stack[l]);
            curve.add(double(l + 1), rms(h));
        }
        report.seeded_number("RMS after step 36, " + curve.name, rms(h), numpy, relative(1e-12), "NumPy, same draws");
    }
    report.measured("peri − output_only", plot.at("peri").y.back() - plot.at("output_only").y.back(),
        "equal: U ignores the scale of what it normalises, and this F is linear");
    const double start = rms(h0);
    report.measured("chance, none: √2³⁶ RMS(h₀)", std::pow(2, depth / 2.) * start,
        "each step doubles the mean square; measured 412,442");
    report.measured("chance, pre: √(RMS(h₀)² + 36)", std::sqrt(start * start + depth),
        "each step adds 1 to the mean square; measured 6.423");
    report.not_reproduced("Peri-LN up to 3.2B parameters (course §6)", "training runs");

    for (const Placement placement : {Placement::pre, Placement::post, Placement::peri}) {
        Tape drawn;
        step(placement, drawn.variable(h0.value(), "h"), drawn.variable(stack[0].value(), "W")).named("h next");
        report.graph(nn::name(placement),
            to_dot(graph_of(drawn, {0}), fmt::format("{}: {}", nn::name(placement), nn::formula(placement))));
    }
    Tape shown;
    const X h = shown.variable(rng.standard_normal({4}), "h"), w = shown.variable(rng.normal(0, 0.5, {4, 4}), "W");
    report.tape(step(Placement::peri, h, w).named("h next"));
}

} // namespace chalkgrad::placement_scale_experiment
