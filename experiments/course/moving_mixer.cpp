// Course §12: if A depends on X, the derivative of A(X) belongs to the gradient; stop_gradient shows what is missing.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::moving_mixer_experiment {

constexpr std::ptrdiff_t n = 4, d = 8;

struct Mixer {
    Array<double> x, w, bias, cotangent;

    /// Σ cotangent · A(x) x, with or without the derivative of A.
    X loss(const X& streams, double alpha, bool fixed) const {
        const Tape tape = streams.tape();
        const X logits = reshape(matmul(reshape(streams, {1, n * d}), tape.constant(w, "W")), {n, n});
        const X a = sinkhorn_log(alpha * logits + tape.constant(bias, "B"));
        return sum(tape.constant(cotangent, "cotangent") * matmul(fixed ? stop_gradient(a) : a, streams));
    }
    Array<double> gradient(double alpha, bool fixed) const {
        const X streams = Tape().variable(x);
        loss(streams, alpha, fixed).backward();
        return streams.grad();
    }
};

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(12);
    const Mixer mixer{rng.standard_normal({n, d}), rng.normal(0, 1 / std::sqrt(double(n * d)), {n * d, n * n}),
        rng.standard_normal({n, n}), rng.standard_normal({n, d})};
    Tape tape;
    const X x = tape.variable(mixer.x), loss = mixer.loss(x, 4, false);
    const X one_op = sum(tape.constant(mixer.cotangent) *
                         mhc_mix_xdep(x, tape.constant(mixer.w), tape.constant(mixer.bias), tape.constant(4.)));
    report.number(
        "α = 4: the op mhc_mix_xdep / its parts", one_op.item() / loss.item(), 1, relative(1e-12), "two routes");
    report.number("α = 4: value with stop_gradient − without", mixer.loss(x, 4, true).item() - loss.item(), 0, exact,
        "stop_gradient changes no value");
    const DirectionalSlope slope = directional_slope(loss, x);
    report.number("α = 4: full gradient / differences", slope.backward / slope.difference, 1, absolute(1e-9),
        "differences in long double");
    report.number("α = 0: full gradient − fixed-A gradient", norm(mixer.gradient(0, false) - mixer.gradient(0, true)),
        0, absolute(1e-15), "course §12: nothing is missing when A is fixed");

    Plot& plot = report.plot({"missing", "What a gradient with A held fixed leaves out",
        {"α, how strongly X moves A", true}, {"‖full − fixed‖ / ‖full‖", true}});
    for (const double alpha : geomspace(0.01, 100, 25)) {
        const Array<double> full = mixer.gradient(alpha, false);
        plot.at("").add(alpha, norm(full - mixer.gradient(alpha, true)) / norm(full));
    }
    report.measured("part of the gradient that a fixed A misses, at most", largest(plot.at("").y),
        "course §12: the full derivative includes that of A(X)");
    report.tape(mixer.loss(Tape().variable(mixer.x, "X"), 4, false).named("loss"));
}

} // namespace chalkgrad::moving_mixer_experiment
