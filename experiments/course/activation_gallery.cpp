// Course §8: the activation functions side by side, values and slopes, and how close to GELU its approximations are.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::activation_gallery_experiment {

void run(Report& report, const ExperimentOptions&) {
    const Array<double> z = linspace(-6, 6, 4001);
    const auto curves = [&](X (*f)(const X&)) { return values_and_slopes(z, f); };
    const Curve of_relu = curves(relu<double>), of_gelu = curves(gelu_erf<double>), of_silu = curves(silu<double>);
    const Curve of_tanh = curves(gelu_tanh<double>), of_quick = curves([](const X&x) { return quick_gelu(x); });

    const Gap quick = largest_gap(z, of_quick.value, of_gelu.value);
    const Gap tanh_form = largest_gap(z, of_tanh.value, of_gelu.value);
    report.number("largest |z σ(1.702 z) − GELU(z)|, 4,001 points", quick.size, 0.020335, decimals(6), "course §8");
    report.number("where: |z|", quick.at, 2.271, absolute(1e-9), "NumPy");
    report.number("largest |tanh form − GELU|", tanh_form.size, 0.0004732346287421585, absolute(1e-15), "NumPy");
    report.number("where: |z|", tanh_form.at, 2.7, absolute(1e-9), "NumPy");
    report.number("largest |SiLU − GELU|", largest_gap(z, of_silu.value, of_gelu.value).size, 0.19300196999859498,
        absolute(1e-15), "NumPy");

    report.plot({"values", "Activations", {"z"}, {"φ(z)"}, // the tanh form would cover GELU
        {series("ReLU", z, of_relu.value), series("GELU", z, of_gelu.value), series("z σ(1.702 z)", z, of_quick.value),
            series("SiLU", z, of_silu.value)}});
    report.plot({"slopes", "Their slopes", {"z"}, {"φ′(z)"},
        {series("ReLU", z, of_relu.slope), series("GELU", z, of_gelu.slope), series("z σ(1.702 z)", z, of_quick.slope),
            series("SiLU", z, of_silu.slope)}});
    report.plot({"errors", "Distance from exact GELU", {"z"}, {"error"},
        {series("z σ(1.702 z)", z, of_quick.value - of_gelu.value),
            series("GELU, tanh form", z, of_tanh.value - of_gelu.value)}});
    const X x = Tape().variable(Array<double>{-quick.at, 0, quick.at}, "z");
    report.tape((x * sigmoid(1.702 * x) - gelu_erf(x)).named("z σ(1.702 z) − GELU"));
}

} // namespace chalkgrad::activation_gallery_experiment
