// Course §7: normalising Q and K inside each head or over the whole projection. Only the second couples the heads.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::two_heads_experiment {

X per_head(const X& x) { return qk_norm_per_head(x, 2, {}, 1e-6); }
X whole(const X& x) { return qk_norm_whole(x, 2, {}, 1e-6); }

/// q·k/√2 of head 1, two heads of width two; head 2 of the query is scaled by c.
X score(X (*norm)(const X&), double c) {
    Tape tape;
    const X q = tape.variable(Array<double>{{3, 4, 0.6 * c, 0.8 * c}}, "q");
    const X k = tape.variable(Array<double>{{4, 3, 1, 0}}, "k");
    return slice(sum(norm(q) * norm(k), -1), "0, 0") / std::sqrt(2.);
}

void run(Report& report, const ExperimentOptions& options) {
    Tape tape;
    Generator rng = options.rng(1);
    const X q = tape.constant(rng.standard_normal({128})), k = tape.constant(rng.standard_normal({128}));
    const double c = 3,
                 cancelled = sum(abs(q * k)).item() / std::abs(matmul(q, k).item()); // digits that the scores lose
    report.number("score of (3 q, 3 k) / score of (q, k)", (matmul(c * q, c * k) / matmul(q, k)).item(), c * c,
        relative(1e-15 * cancelled), "course §7: c²");
    const X qn = rms_norm(q, {}, 1e-300), kn = rms_norm(k, {}, 1e-300);
    report.number("length of a head of width 128 after RMSNorm", sqrt(matmul(qn, qn)).item(), std::sqrt(128.),
        relative(1e-14), "course §7: √d_h");
    const double cosine = (matmul(q, k) / sqrt(matmul(q, q) * matmul(k, k))).item();
    report.number("score of normalised heads / cos θ", matmul(qn, kn).item() / std::sqrt(128.) / cosine,
        std::sqrt(128.), relative(1e-12), "course §7: √d_h cos θ");

    for (const auto& [scale, numpy] :
        Rows<double, double>{{1, 2.610855405787959}, {10, 1.1907333414097974}, {100, 0.1329619381510602}}) {
        report.number(fmt::format("score of head 1, per head, head 2 × {:g}", scale), score(per_head, scale).item(),
            1.3576449112665783, relative(1e-12), "NumPy; course §7: unchanged");
        report.number(fmt::format("score of head 1, whole, head 2 × {:g}", scale), score(whole, scale).item(), numpy,
            relative(1e-12), "NumPy; course §7: coupled");
    }
    report.not_reproduced("0.928 BLEU gained by QKNorm (course §7)", "translation models have to be trained");

    Plot& plot = report.plot({"score", "Scaling head 2 of the query moves the score of head 1",
        {"scale of head 2", true}, {"score of head 1"}});
    for (const double scale : geomspace(0.01, 1000, 51)) {
        plot.at("inside each head (Qwen3)", Mark::line).add(scale, score(per_head, scale).item());
        plot.at("whole projection (OLMo2)", Mark::line).add(scale, score(whole, scale).item());
    }
    report.tape(score(whole, 10).named("score of head 1"));
}

} // namespace chalkgrad::two_heads_experiment
