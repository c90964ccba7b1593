// Course §11: tanh(α x) fitted to x / RMS(x) over 200,000 normal draws; and DyT beside DyISRU at equal slopes.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/norm/dyisru.hpp>
#include <chalkgrad/ops/norm/dyt.hpp>
#include <chalkgrad/ops/norm/rms_norm_floor.hpp>

namespace chalkgrad::dyt_fit_experiment {

void run(Report& report, const ExperimentOptions& options) {
    Tape tape;
    const X x = tape.constant(options.rng(5).standard_normal({200000})), target = rms_norm_floor(x);
    const Array<double> alphas = linspace(0.3, 2, 171);
    Series curve{""};
    const Tape::Mark start = tape.mark();
    for (const double alpha : alphas) {
        curve.add(alpha, mean(square(dyt(x, tape.constant(alpha)) - target)).item());
        tape.rewind(start);
    }
    const std::size_t best = std::size_t(std::min_element(curve.y.begin(), curve.y.end()) - curve.y.begin());
    report.seeded_number("best α of 171", curve.x[best], 1.43, decimals(2), "course §11");
    report.seeded_number("its mean squared error", curve.y[best], 0.161704, decimals(6), "course §11");
    report.measured("error at the α below", curve.y[best - 1], "a flat optimum: the third decimal of α hardly matters");
    report.measured("error at the α above", curve.y[best + 1], "a flat optimum: the third decimal of α hardly matters");
    report.plot({"fit", "How well tanh(α x) stands in for the norm", {"α"}, {"mean squared error"}, {curve}});

    const Array<double> axis = linspace(-8, 8, 1601);
    const X z = tape.variable(axis);
    const X t = dyt(z, tape.constant(0.5)), r = dyisru_b(z, tape.constant(4.));
    const std::size_t middle = 800;
    report.number("slope of DyT at 0, α = 0.5", grad(sum(t), std::vector{z})[0][middle], 0.5, exact, "course §11: α");
    report.number(
        "slope of DyISRU at 0, b = 4", grad(sum(r), std::vector{z})[0][middle], 0.5, exact, "course §11: 1/√b");
    const Gap gap = largest_gap(axis, t.value(), r.value());
    report.number("largest distance of the matched curves", gap.size, 0.07368810883874821, absolute(1e-14), "NumPy");
    report.number("where: |x|", gap.at, 3.24, absolute(1e-9), "NumPy");
    report.plot({"shapes", "Equal slopes at 0, different curves", {"x"}, {"value"},
        {series("DyT, α = 0.5", axis, t.value()), series("DyISRU, b = 4", axis, r.value())}});
    Tape shown; // the error of the fit, on five numbers
    const X few = shown.constant(xt::xarray<double>{-2, -0.5, 0.1, 1, 1.5}, "x"),
            alpha = shown.variable(curve.x[best], "α");
    report.tape(mean(square(dyt(few, alpha) - rms_norm_floor(few))).named("error"));
}

} // namespace chalkgrad::dyt_fit_experiment
