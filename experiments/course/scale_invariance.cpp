// Course §5: RMSNorm(c x) = RMSNorm(x) needs ⟨x²⟩ ≫ ε and c²⟨x²⟩ ≫ ε. The curve shows where the second fails.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::scale_invariance_experiment {
namespace {

constexpr double eps = 1e-6;

/// Root mean square of RMSNorm(c x), x = (2, −1, 3, 0).
X output_rms(const X& c) {
    const X x = c.tape().constant(xt::xarray<double>{2, -1, 3, 0}, "x");
    return sqrt(mean(square(rms_norm(c * x, {}, eps))));
}
double output_rms(double c) { return output_rms(Tape().variable(c, "c")).item(); }

} // namespace

void run(Report& report, const ExperimentOptions&) {
    struct Case {
        double c, numpy;
    };
    for (const Case& each : {Case{1, 0.9999998571428877}, {0.1, 0.9999857145918295}, {1e-2, 0.9985744825254634},
             {1e-3, 0.881917103688197}, {1e-4, 0.18389242812245685}, {1e-6, 0.0018708254194453515}})
        report.number(fmt::format("RMS of RMSNorm(c x), c = {:g}", each.c), output_rms(each.c), each.numpy,
            relative(1e-14), "the same formula in NumPy");
    report.number(
        "at c = √ε / RMS(x)", output_rms(std::sqrt(eps / 3.5)), std::sqrt(0.5), relative(1e-14), "closed form: 1/√2");
    report.number("input 1000 x, c = 1e-7", output_rms(1e3 * 1e-7), 0.18389242812245682, relative(1e-14),
        "course §5: a small c defeats a large input");

    const Array<double> c = geomspace(1e-7, 10, 81);
    const auto of_scale = [&](const char* name, double size) {
        return curve(name, c, [&](double each) { return output_rms(size * each); });
    };
    report.plot({"curve", "Scale invariance ends where c RMS(x) reaches √ε", {"scale c", true}, {"RMS of RMSNorm(c x)"},
        {of_scale("x", 1), of_scale("1000 x", 1e3)}});
    report.tape(output_rms(Tape().variable(1e-3, "c")).named("RMS of RMSNorm(c x)"));
}

} // namespace chalkgrad::scale_invariance_experiment
