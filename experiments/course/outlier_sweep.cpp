// Stollenwerk 2025 (course §11): one coordinate grows, 63 stay as they are. RMSNorm against its stand-ins.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/norm/dyisru.hpp>
#include <chalkgrad/ops/norm/dyt.hpp>

namespace chalkgrad::outlier_sweep_experiment {
namespace {

constexpr std::size_t d = 64, points = 2401;

struct Errors {
    double mean_square = 0, largest = 0;
};

Errors errors(const Array<double>& y, const Array<double>& target) {
    const Array<double> difference = y - target;
    return {std::pow(root_mean_square(difference), 2), largest(difference)};
}

} // namespace

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
    const Array<double> normed =
        rms_norm(tape.constant(rows), {}, 1e-300).value(); // ε must be positive; this one is nothing
    for (std::size_t i = 0; i < points; ++i) target(i) = normed(i, 0);

    const X input = tape.constant(sweep), bound = tape.constant(std::sqrt(double(d)));
    const auto dyt_of = [&](double alpha) { return dyt(input, tape.constant(alpha), bound).value(); };
    double best = 0;
    Errors least{std::numeric_limits<double>::infinity(), 0};
    Plot fit{
        "fit", "DyT against RMSNorm over its only parameter", {"α"}, {"mean squared error", true}, {{"DyT", {}, {}}}};
    const Tape::Mark mark = tape.mark();
    for (const double alpha : linspace(0.01, 0.5, 491)) {
        const Errors e = errors(dyt_of(alpha), target);
        if (e.mean_square < least.mean_square) least = e, best = alpha;
        fit.series[0].add(alpha, e.mean_square);
        tape.rewind(mark);
    }
    const double matched = 1 / std::sqrt(s); // DyT's slope at 0 is that of the norm
    const Array<double> dyisru = dyisru_b(input, tape.constant(s), bound).value();
    const Tolerance tolerance = relative(1e-12);
    judge(report, "best DyT", tolerance,
        {{"S", s}, {"alpha", best}, {"mean squared error", least.mean_square}, {"largest error", least.largest}});
    judge(report, "DyT of equal slope", tolerance,
        {{"alpha", matched}, {"mean squared error", errors(dyt_of(matched), target).mean_square}});
    judge(report, "DyISRU", absolute(1e-12), {{"largest error", errors(dyisru, target).largest}});
    report.measured("DyISRU with b = S: largest error", errors(dyisru, target).largest,
        "the paper: exact by construction while the other coordinates stay as they are");

    const Array<double> best_fit = dyt_of(best), equal_slope = dyt_of(matched);
    report.plot({"curves", "One coordinate grows, 63 stay: what a norm makes of it", {"x"}, {"y"},
        {series("RMSNorm", sweep, target), series("DyT, best α", sweep, best_fit),
            series("DyISRU, b = S", sweep, dyisru)}});
    report.plot({"errors", "What is left after subtracting RMSNorm", {"x"}, {"y − RMSNorm"},
        {series("DyT, best α", sweep, best_fit - target), series("DyT, equal slope", sweep, equal_slope - target),
            series("DyISRU, b = S", sweep, dyisru - target)}});
    report.plot(fit);
}

} // namespace chalkgrad::outlier_sweep_experiment
