// Stollenwerk 2025 (course §11): one coordinate grows, 63 stay as they are. RMSNorm against its stand-ins.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::outlier_sweep_experiment {

constexpr std::size_t d = 64, points = 2401;

double mean_square(const Array<double>& x) { return std::pow(root_mean_square(x), 2); }

void run(Report& report, const ExperimentOptions& options) {
    const Array<double> z = options.rng(71).standard_normal({d - 1});
    const double s = std::pow(norm(z), 2);
    const Array<double> sweep = linspace(-60, 60, points);
    Array<double> rows = Array<double>::from_shape({points, d}), target = Array<double>::from_shape({points});
    for (std::size_t i = 0; i < points; ++i) {
        rows(i, 0) = sweep[i];
        for (std::size_t j = 1; j < d; ++j) rows(i, j) = z(j - 1);
    }
    Tape tape;
    const X normed = rms_norm(tape.constant(rows), {}, 1e-300); // ε must be positive; this one is nothing
    for (std::size_t i = 0; i < points; ++i) target(i) = normed.value()(i, 0);

    const X input = tape.constant(sweep), bound = tape.constant(std::sqrt(double(d)));
    const auto error = [&](double alpha) { // of DyT
        return Array<double>(dyt(input, tape.constant(alpha), bound).value() - target);
    };
    const Series of_alpha =
        curve("DyT", linspace(0.01, 0.5, 491), [&](double alpha) { return mean_square(error(alpha)); });
    const double best = of_alpha.x[std::ranges::min_element(of_alpha.y) - of_alpha.y.begin()];
    const double matched = 1 / std::sqrt(s); // DyT's slope at 0 is that of the norm
    const Array<double> of_best = error(best), of_matched = error(matched);
    const Array<double> of_dyisru = dyisru_b(input, tape.constant(s), bound).value() - target;
    const Tolerance tolerance = relative(1e-12);
    judge(report, "best DyT", tolerance,
        {{"S", s}, {"alpha", best}, {"mean squared error", mean_square(of_best)}, {"largest error", largest(of_best)}});
    judge(
        report, "DyT of equal slope", tolerance, {{"alpha", matched}, {"mean squared error", mean_square(of_matched)}});
    judge(report, "DyISRU", absolute(1e-12), {{"largest error", largest(of_dyisru)}});
    report.measured("DyISRU with b = S: largest error", largest(of_dyisru),
        "the paper: exact by construction while the other coordinates stay as they are");

    report.plot({"curves", "One coordinate grows, 63 stay: what a norm makes of it", {"x"}, {"y"},
        {series("RMSNorm", sweep, target), series("DyT, best α", sweep, dyt(input, tape.constant(best), bound).value()),
            series("DyISRU, b = S", sweep, dyisru_b(input, tape.constant(s), bound).value())}});
    report.plot({"errors", "What is left after subtracting RMSNorm", {"x"}, {"y − RMSNorm"},
        {series("DyT, best α", sweep, of_best), series("DyT, equal slope", sweep, of_matched),
            series("DyISRU, b = S", sweep, of_dyisru)}});
    report.plot(
        {"fit", "DyT against RMSNorm over its only parameter", {"α"}, {"mean squared error", true}, {of_alpha}});
}

} // namespace chalkgrad::outlier_sweep_experiment
