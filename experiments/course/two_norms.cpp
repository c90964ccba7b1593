// Course §5: LayerNorm and RMSNorm of the same four numbers, and of a constant vector, which tells them apart.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::two_norms_experiment {

constexpr double eps = 1e-6;

void run(Report& report, const ExperimentOptions&) {
    const X x = Tape().constant(Array<double>{2, -1, 3, 0}, "x");
    report.number("mean μ", mean(x).item(), 1, exact, "course §5");
    report.number("variance σ²", var_biased(x).item(), 2.5, exact, "course §5");
    report.number("RMS", sqrt(mean(square(x))).item(), std::sqrt(3.5), relative(1e-15), "course §5: √3.5");

    const Array<double> centred = layer_norm(x, {}, {}, eps).value(), scaled = rms_norm(x, {}, eps).value();
    const auto check = [&](const char* norm, const Array<double>& y, std::initializer_list<double> course) {
        for (std::size_t i = 0; i < 4; ++i)
            report.number(
                fmt::format("{}, coordinate {}", norm, i + 1), y[i], course.begin()[i], decimals(3), "course §5");
    };
    check("LayerNorm", centred, {0.632, -1.265, 1.265, -0.632});
    check("RMSNorm", scaled, {1.069, -0.535, 1.604, 0});

    const X constant = Tape().constant(Array<double>{3, 3, 3, 3});
    report.number("LayerNorm of (3, 3, 3, 3)", layer_norm(constant, {}, {}, eps).value()[0], 0, exact, "course §5");
    report.number("RMSNorm of (3, 3, 3, 3)", rms_norm(constant, {}, eps).value()[0], 3 / std::sqrt(9 + eps),
        relative(1e-15), "course §5: not 0; closed form");

    const Array<double> i{1, 2, 3, 4};
    report.plot({"coordinates", "One vector, two norms: only LayerNorm moves the zero", {"coordinate"}, {"value"},
        {series("x", i, x.value(), Mark::line_points), series("LayerNorm", i, centred, Mark::line_points),
            series("RMSNorm", i, scaled, Mark::line_points)}});
    const X v = Tape().variable(x.value(), "x");
    report.tape((layer_norm(v, {}, {}, eps) - rms_norm(v, {}, eps)).named("LayerNorm − RMSNorm"));
}

} // namespace chalkgrad::two_norms_experiment
