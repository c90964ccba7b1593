// Course §11: tanh(α x) fitted to x / RMS(x) over 200,000 normal draws; and DyT beside DyISRU at equal slopes.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::dyt_fit_experiment {

/// Of tanh(α x) as a stand-in for the norm.
X error(const X& x, const X& alpha) { return mean(square(dyt(x, alpha) - rms_norm_floor(x))); }

void run(Report& report, const ExperimentOptions& options) {
    const Array<double> draws = options.rng(5).standard_normal({200000});
    const Series fit = curve("", linspace(0.3, 2, 171), [&](double alpha) {
        const Tape tape;
        return error(tape.constant(draws), tape.constant(alpha)).item();
    });
    const std::size_t best = std::size_t(std::ranges::min_element(fit.y) - fit.y.begin());
    report.seeded_number("best α of 171", fit.x[best], 1.43, decimals(2), "course §11");
    report.seeded_number("its mean squared error", fit.y[best], 0.161704, decimals(6), "course §11");
    report.measured("error at the α below", fit.y[best - 1], "a flat optimum: the third decimal of α hardly matters");
    report.measured("error at the α above", fit.y[best + 1], "a flat optimum: the third decimal of α hardly matters");
    report.plot({"fit", "How well tanh(α x) stands in for the norm", {"α"}, {"mean squared error"}, {fit}});

    const Array<double> axis = linspace(-8, 8, 1601); // its middle is 0
    const auto constant = [](const X& z, double value) { return z.tape().constant(value); };
    const Curve t = values_and_slopes(axis, [&](const X& z) { return dyt(z, constant(z, 0.5)); });
    const Curve r = values_and_slopes(axis, [&](const X& z) { return dyisru_b(z, constant(z, 4)); });
    report.number("slope of DyT at 0, α = 0.5", t.slope[800], 0.5, exact, "course §11: α");
    report.number("slope of DyISRU at 0, b = 4", r.slope[800], 0.5, exact, "course §11: 1/√b");
    const Gap gap = largest_gap(axis, t.value, r.value);
    report.number("largest distance of the matched curves", gap.size, 0.07368810883874821, absolute(1e-14), "NumPy");
    report.number("where: |x|", gap.at, 3.24, absolute(1e-9), "NumPy");
    report.plot({"shapes", "Equal slopes at 0, different curves", {"x"}, {"value"},
        {series("DyT, α = 0.5", axis, t.value), series("DyISRU, b = 4", axis, r.value)}});
    Tape shown; // the error of the fit, on five numbers
    const X few = shown.constant(Array<double>{-2, -0.5, 0.1, 1, 1.5}, "x"), alpha = shown.variable(fit.x[best], "α");
    report.tape(error(few, alpha).named("error"));
}

} // namespace chalkgrad::dyt_fit_experiment
