// Course §5: RMSNorm(c x) = RMSNorm(x) needs ⟨x²⟩ ≫ ε and c²⟨x²⟩ ≫ ε. The curve shows where the second fails.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::scale_invariance_experiment {

constexpr double eps = 1e-6;

/// Root mean square of RMSNorm(c x), x = (2, −1, 3, 0).
X output_rms(double scale) {
    const Tape tape;
    const X c = tape.variable(scale, "c"), x = tape.constant(Array<double>{2, -1, 3, 0}, "x");
    return sqrt(mean(square(rms_norm(c * x, {}, eps)))).named("RMS of RMSNorm(c x)");
}

void run(Report& report, const ExperimentOptions&) {
    for (const auto& [c, numpy] :
        Rows<double, double>{{1, 0.9999998571428877}, {0.1, 0.9999857145918295}, {1e-2, 0.9985744825254634},
            {1e-3, 0.881917103688197}, {1e-4, 0.18389242812245685}, {1e-6, 0.0018708254194453515}})
        report.number(fmt::format("RMS of RMSNorm(c x), c = {:g}", c), output_rms(c).item(), numpy, relative(1e-14),
            "the same formula in NumPy");
    report.number("at c = √ε / RMS(x)", output_rms(std::sqrt(eps / 3.5)).item(), std::sqrt(0.5), relative(1e-14),
        "closed form: 1/√2");
    report.number("input 1000 x, c = 1e-7", output_rms(1e3 * 1e-7).item(), 0.18389242812245682, relative(1e-14),
        "course §5: a small c defeats a large input");

    Plot& plot = report.plot(
        {"curve", "Scale invariance ends where c RMS(x) reaches √ε", {"scale c", true}, {"RMS of RMSNorm(c x)"}});
    for (const double c : geomspace(1e-7, 10, 81)) {
        plot.at("x", Mark::line).add(c, output_rms(c).item());
        plot.at("1000 x", Mark::line).add(c, output_rms(1e3 * c).item());
    }
    report.tape(output_rms(1e-3));
}

} // namespace chalkgrad::scale_invariance_experiment
