// Course §12: how far 1, 20 and 100 Sinkhorn iterations are from doubly stochastic, in both orders of the half-steps.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

namespace chalkgrad::sinkhorn_residuals_experiment {
namespace {

Array<double> sinkhorn(const Array<double>& logits, std::ptrdiff_t iterations, SinkhornOrder order) {
    Tape tape;
    return sinkhorn_log(tape.constant(logits), {iterations, order}).value();
}

/// max |Σ − 1| over the sums along an axis.
double residual(const Array<double>& a, std::ptrdiff_t axis) {
    Tape tape;
    return largest(sum(tape.constant(a), axis).value() - 1.);
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    const Array<double> draws = options.rng(6).standard_normal({4, 4});
    const auto check = [&](const std::string& name, double value, double numpy) {
        // Below 1e-12 both are rounding.
        report.seeded_number(name, value, numpy < 1e-12 ? 0 : numpy, numpy < 1e-12 ? absolute(1e-14) : relative(1e-8),
            "NumPy, same draws");
    };
    struct Case {
        double scale;
        double columns[3]; ///< after 1, 20, 100 iterations, columns first
        double rate;       ///< second singular value of the limit, squared
    };
    Plot plot{"residuals", "Sinkhorn converges linearly; the spread of the logits sets the rate", {"iterations"},
        {"largest |column sum − 1|", true}, {}};
    for (const Case& each : {Case{1, {0.01897650058713718, 8.9e-16, 1.1e-16}, 0.23448035194995046},
             {3, {0.22918643475391876, 3.1715804731602404e-05, 2.2e-16}, 0.6184140819192814},
             {6, {0.34924383324316555, 0.016077604024346437, 4.3976499974895944e-07}, 0.8769662310508202}}) {
        const Array<double> logits = each.scale * draws;
        for (const std::size_t i : {0, 1, 2}) {
            const std::ptrdiff_t k = std::array{1, 20, 100}[i];
            const Array<double> a = sinkhorn(logits, k, SinkhornOrder::cols_first);
            check(fmt::format("logits × {:g}, {} iterations: column sums", each.scale, k), residual(a, 0),
                each.columns[i]);
            report.number(fmt::format("logits × {:g}, {} iterations: row sums", each.scale, k), residual(a, 1), 0,
                absolute(1e-14), "rows come last: exact");
        }
        const double sigma = singular_values(sinkhorn(logits, 2000, SinkhornOrder::cols_first))[1];
        report.seeded_number(fmt::format("logits × {:g}: σ₂² of the limit", each.scale), sigma * sigma, each.rate,
            relative(1e-9), "NumPy: the factor an iteration gains");
        plot.series.push_back(curve(fmt::format("logits × {:g}", each.scale), linspace(1, 60, 60), [&](double k) {
            return std::max(residual(sinkhorn(logits, std::ptrdiff_t(k), SinkhornOrder::cols_first), 0), 1e-16);
        }));
    }
    const Array<double> logits = 3 * draws;
    const double rows[] = {0.6431815813669743, 4.002179119655391e-05, 1.1e-16};
    for (const std::size_t i : {0, 1, 2}) {
        const std::ptrdiff_t k = std::array{1, 20, 100}[i];
        check(fmt::format("rows first, logits × 3, {} iterations: row sums", k),
            residual(sinkhorn(logits, k, SinkhornOrder::rows_first), 1), rows[i]);
    }
    report.measured("iterations of the mHC paper", 20, "course §12; at logits × 3 they leave 3e-5");
    report.plot(std::move(plot));
    const Array<double> raised = logits + 800.;
    const Array<double> a = sinkhorn(raised, 20, SinkhornOrder::cols_first),
                        b = sinkhorn(logits, 20, SinkhornOrder::cols_first);
    report.number(
        "logits + 800: largest change", largest(a - b), 0, absolute(1e-12), "the log domain; exp(800) would be inf");
}

} // namespace chalkgrad::sinkhorn_residuals_experiment
