// Course §7: normalising Q and K inside each head or over the whole projection. Only the second couples the heads.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/attention/qk_norm.hpp>
#include <chalkgrad/ops/shape/slice.hpp>

namespace chalkgrad::two_heads_experiment {
namespace {

using QkNorm = X (*)(const X&, std::size_t heads, const X& gamma, double eps);

/// q·k/√2 of head 1, two heads of width two; head 2 of the query is scaled by c.
X score_on_tape(QkNorm norm, double c) {
    Tape tape;
    const X q = tape.variable(xt::xarray<double>{{3, 4, 0.6 * c, 0.8 * c}}, "q"),
            k = tape.variable(xt::xarray<double>{{4, 3, 1, 0}}, "k");
    const X products = norm(q, 2, {}, 1e-6) * norm(k, 2, {}, 1e-6);
    return slice(sum(products, -1), "0, 0") / std::sqrt(2.);
}
double score(QkNorm norm, double c) { return score_on_tape(norm, c).item(); }

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    Tape tape;
    Generator rng = options.rng(1);
    const X q = tape.constant(rng.standard_normal({128})), k = tape.constant(rng.standard_normal({128}));
    const double c = 3;
    report.number("score of (3 q, 3 k) / score of (q, k)", (matmul(c * q, c * k) / matmul(q, k)).item(), c * c,
        relative(1e-14), "course §7: c²");
    const X qn = rms_norm(q, {}, 1e-300), kn = rms_norm(k, {}, 1e-300);
    report.number("length of a head of width 128 after RMSNorm", sqrt(matmul(qn, qn)).item(), std::sqrt(128.),
        relative(1e-14), "course §7: √d_h");
    const double cosine = (matmul(q, k) / sqrt(matmul(q, q) * matmul(k, k))).item();
    report.number("score of normalised heads / cos θ", matmul(qn, kn).item() / std::sqrt(128.) / cosine,
        std::sqrt(128.), relative(1e-12), "course §7: √d_h cos θ");

    const QkNorm per_head = qk_norm_per_head<double>, whole = qk_norm_whole<double>;
    struct Case {
        double c, per_head, whole;
    };
    for (const Case& each : {Case{1, 1.3576449112665783, 2.610855405787959},
             {10, 1.3576449112665783, 1.1907333414097974}, {100, 1.3576449112665783, 0.1329619381510602}}) {
        report.number(fmt::format("score of head 1, per head, head 2 × {:g}", each.c), score(per_head, each.c),
            each.per_head, relative(1e-12), "NumPy; course §7: unchanged");
        report.number(fmt::format("score of head 1, whole, head 2 × {:g}", each.c), score(whole, each.c), each.whole,
            relative(1e-12), "NumPy; course §7: coupled");
    }
    report.not_reproduced("0.928 BLEU gained by QKNorm (course §7)", "translation models have to be trained");

    const Array<double> scales = geomspace(0.01, 1000, 51);
    const auto of_scale = [&](const char* name, QkNorm norm) {
        return curve(name, scales, [&](double each) { return score(norm, each); });
    };
    report.plot({"score", "Scaling head 2 of the query moves the score of head 1", {"scale of head 2", true},
        {"score of head 1"},
        {of_scale("inside each head (Qwen3)", per_head), of_scale("whole projection (OLMo2)", whole)}});
    report.tape(score_on_tape(whole, 10).named("score of head 1"));
}

} // namespace chalkgrad::two_heads_experiment
