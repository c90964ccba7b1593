// Course §7: queries and keys times c make scores times c². What keeps attention soft? Plain scores, norms, a soft cap.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::logit_scale_experiment {

constexpr std::size_t tokens = 64, head = 32;
// Henry et al. 2020 start τ at log₂(L² − L), L the usual length of a sequence.
const double tau = std::log2(double(tokens * tokens - tokens));

using Scores = X (*)(const X& q, const X& k);
X plain(const X& q, const X& k) { return matmul(q, transpose(k)) / std::sqrt(double(head)); }
X unit_length(const X& q, const X& k) { return qknorm_scores(q, k, q.tape().constant(tau)); }
X rms_per_head(const X& q, const X& k) { return plain(rms_norm(q), rms_norm(k)); }
X capped(const X& q, const X& k) { return softcap(plain(q, k), 30); }

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(31);
    Tape tape;
    const X q = tape.constant(rng.standard_normal({tokens, head}), "q");
    const X k = tape.constant(rng.standard_normal({tokens, head}), "k");
    report.number(
        "tau: log2(L^2 - L)", tau, reference(report, "tau", "log2(L^2 - L)"), relative(1e-9), "arXiv:2010.04245");

    Plot& entropies = report.plot(
        {"entropy", "Entropy of attention over 64 keys (equal weights: 4.16)", {"c", true}, {"entropy (nats)"}});
    Plot& traces = report.plot(
        {"jacobian", "How much gradient the softmax lets through", {"c", true}, {"trace of diag(p) − p pᵀ"}});
    for (const auto& [name, scores] : Rows<std::string, Scores>{
             {"plain", plain}, {"L2 and tau", unit_length}, {"RMS per head", rms_per_head}, {"softcap 30", capped}})
        for (const double c : {0.25, 0.5, 1., 2., 4., 8., 32.}) {
            const X s = scores(c * q, c * k), p = softmax(s);
            const double entropy = mean(sum(-p * log_softmax(s), -1)).item();
            const double let_through = mean(sum(p * (1.0 - p), -1)).item();
            judge(report, fmt::format("{}, c = {}", name, c), relative(1e-9),
                {{"entropy", entropy}, {"mean largest weight", mean(amax(p, -1)).item()},
                    {"largest |score|", largest(s.value())}, {"trace of the softmax Jacobian", let_through}});
            entropies.at(name).add(c, entropy);
            traces.at(name).add(c, let_through);
        }
    for (const char* const name : {"L2 and tau", "RMS per head"})
        report.measured(fmt::format("{}: entropy at c = 32 − c = 0.5", name),
            entropies.at(name).y.back() - entropies.at(name).y[1],
            "QK norms make scores independent of the size of q and k (arXiv:2010.04245, 2302.05442)");
    report.measured("softcap 30: entropy at c = 32 over c = 4",
        entropies.at("softcap 30").y.back() / entropies.at("softcap 30").y[4],
        "no claim: once every score is at the cap, all are equal again and entropy rises");
}

} // namespace chalkgrad::logit_scale_experiment
