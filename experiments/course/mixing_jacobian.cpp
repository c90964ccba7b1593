// Course §12: a doubly stochastic A never amplifies. If A depends on X, the derivative of A(X) X may.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::mixing_jacobian_experiment {

constexpr std::size_t n = 4, d = 8;

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(61);
    const Array<double> streams = rng.standard_normal({n, d});
    const Array<double> phi = rng.normal(0, 1 / std::sqrt(double(n * d)), {n * d, n * n});
    Plot& plot = report.plot({"gain", "Largest singular value of the Jacobian", {"α", true}, {"σ_max", true}});
    for (const double alpha : {0.01, 1., 4., 16.}) {
        Tape tape;
        const X x = tape.variable(streams, "X");
        const X logits = alpha * reshape(matmul(rms_norm(reshape(x, {n * d})), tape.constant(phi, "Phi")), {n, n});
        const X a = sinkhorn_log(logits, {.iterations = 20, .order = SinkhornOrder::cols_first}), y = matmul(a, x);
        if (alpha == 1)
            report.graph("tape", to_dot(graph_of(tape, {x.line()}, {y.line()}), "X reaches the output twice"));
        const Array<double> full = jacobian(y, x), fixed = jacobian(mhc_mix_fixed(x, a.value()), x);
        const double of_full = singular_values(full).front(), of_fixed = singular_values(fixed).front();
        const std::string row = fmt::format("alpha = {}", alpha);
        judge(report, row, relative(1e-10),
            {{"largest singular value, fixed A", of_fixed}, {"largest singular value, A(X)", of_full},
                {"Frobenius norm of the difference", norm(full - fixed)}});
        // The rows of A sum to 1 exactly: each output lies between the smallest and the largest stream.
        const double above = amax(y - amax(x, 0, true)).item(), below = amax(amin(x, 0, true) - y).item();
        report.number(row + ": outputs outside the convex bound", std::max({above, below, 0.0}), 0, absolute(1e-12),
            "course §12");
        plot.at("A(X), full derivative").add(alpha, of_full);
        plot.at("A fixed").add(alpha, of_fixed);
    }
    report.measured("alpha = 16: gain of A(X) over gain of fixed A", plot.series[0].y.back() / plot.series[1].y.back(),
        "course §12: the bound holds for values; it does not bound the derivative of an input-dependent A");
}

} // namespace chalkgrad::mixing_jacobian_experiment
