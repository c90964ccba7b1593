// Course §12: how far 1, 20 and 100 Sinkhorn iterations are from doubly stochastic, in both orders of the half-steps.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::sinkhorn_residuals_experiment {

X sinkhorn(const Array<double>& logits, double iterations, SinkhornOrder order = SinkhornOrder::cols_first) {
    return sinkhorn_log(Tape().constant(logits), {std::ptrdiff_t(iterations), order});
}

/// max |Σ − 1| over the sums along an axis: 0 for the columns, 1 for the rows.
double residual(const X& a, std::ptrdiff_t axis) { return largest(sum(a, axis).value() - 1.); }

void run(Report& report, const ExperimentOptions& options) {
    const Array<double> draws = options.rng(6).standard_normal({4, 4}), logits = 3 * draws;
    const auto check = [&](const std::string& name, double value, double numpy) {
        // Below 1e-12 both are rounding.
        report.seeded_number(name, value, numpy < 1e-12 ? 0 : numpy, numpy < 1e-12 ? absolute(1e-14) : relative(1e-8),
            "NumPy, same draws");
    };
    using Residuals = std::map<int, double>; // after so many iterations
    Plot& plot = report.plot({"residuals", "Sinkhorn converges linearly; the spread of the logits sets the rate",
        {"iterations"}, {"largest |column sum − 1|", true}});
    for (const auto& [scale, columns, rate] : Rows<double, Residuals, double>{
             {1, {{1, 0.01897650058713718}, {20, 8.9e-16}, {100, 1.1e-16}}, 0.23448035194995046},
             {3, {{1, 0.22918643475391876}, {20, 3.1715804731602404e-05}, {100, 2.2e-16}}, 0.6184140819192814},
             {6, {{1, 0.34924383324316555}, {20, 0.016077604024346437}, {100, 4.3976499974895944e-07}},
                 0.8769662310508202}}) {
        const Array<double> scaled = scale * draws;
        const std::string name = fmt::format("logits × {:g}", scale);
        for (const auto& [k, numpy] : columns) {
            const X a = sinkhorn(scaled, k);
            check(fmt::format("{}, {} iterations: column sums", name, k), residual(a, 0), numpy);
            report.number(fmt::format("{}, {} iterations: row sums", name, k), residual(a, 1), 0, absolute(1e-14),
                "rows come last: exact");
        }
        const double sigma = singular_values(sinkhorn(scaled, 2000).value())[1];
        report.seeded_number(
            name + ": σ₂² of the limit", sigma * sigma, rate, relative(1e-9), "NumPy: the factor an iteration gains");
        for (const double k : linspace(1, 60, 60))
            plot.at(name, Mark::line).add(k, std::max(residual(sinkhorn(scaled, k), 0), 1e-16));
    }
    for (const auto& [k, numpy] : Residuals{{1, 0.6431815813669743}, {20, 4.002179119655391e-05}, {100, 1.1e-16}})
        check(fmt::format("rows first, logits × 3, {} iterations: row sums", k),
            residual(sinkhorn(logits, k, SinkhornOrder::rows_first), 1), numpy);
    report.measured("iterations of the mHC paper", 20, "course §12; at logits × 3 they leave 3e-5");
    report.number("logits + 800: largest change",
        largest(sinkhorn(logits + 800., 20).value() - sinkhorn(logits, 20).value()), 0, absolute(1e-12),
        "the log domain; exp(800) would be inf");
}

} // namespace chalkgrad::sinkhorn_residuals_experiment
