// Course §5: before γ, a norm multiplies its input by 1/√(⟨x²⟩ + ε). Near zero ε alone decides by how much.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::epsilon_gain_experiment {

/// By what RMSNorm multiplies a vector of this root mean square.
double gain(double rms, double eps) {
    return rms_norm(Tape().constant(Array<double>{rms, -rms}), {}, eps).value()[0] / rms;
}

void run(Report& report, const ExperimentOptions&) {
    report.number("gain at RMS 0.001, ε = 1e-6", gain(1e-3, 1e-6), 707.1, decimals(1), "course §5");
    report.number("gain at RMS 0.001, ε = 1e-5", gain(1e-3, 1e-5), 301.5, decimals(1), "course §5");
    report.number("largest gain, ε = 1e-6", gain(1e-30, 1e-6), 1000, relative(1e-14), "course §5: 1/√ε");
    report.number("largest gain, ε = 1e-5", gain(1e-30, 1e-5), 1 / std::sqrt(1e-5), relative(1e-14), "course §5: 1/√ε");

    Plot& plot =
        report.plot({"gain", "ε bounds the gain by 1/√ε", {"RMS of the input", true}, {"gain before γ", true}});
    for (const double rms : geomspace(1e-6, 10, 85))
        for (const double eps : {1e-6, 1e-5})
            plot.at(fmt::format("ε = {:g}", eps), Mark::line).add(rms, gain(rms, eps));
    report.tape(rms_norm_composed(Tape().variable(Array<double>{1e-3, -1e-3}, "x"), {}, 1e-6).named("y"));
}

} // namespace chalkgrad::epsilon_gain_experiment
