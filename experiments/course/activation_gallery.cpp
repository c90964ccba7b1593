// Course §8: the activation functions side by side, values and slopes, and how close to GELU its approximations are.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::activation_gallery_experiment {
namespace {

struct Activation {
    const char* name;
    X (*f)(const X&);
};
constexpr Activation all[] = {{"ReLU", relu<double>}, {"GELU", gelu_erf<double>},
    {"GELU, tanh form", gelu_tanh<double>}, {"z σ(1.702 z)", [](const X& x) { return quick_gelu(x); }},
    {"SiLU", silu<double>}};

} // namespace

void run(Report& report, const ExperimentOptions&) {
    const Array<double> z = linspace(-6, 6, 4001);
    std::vector<Curve> curves;
    for (const Activation& each : all) curves.push_back(values_and_slopes(z, each.f));
    const Array<double>& gelu = curves[1].value;
    const Gap quick = largest_gap(z, curves[3].value, gelu), tanh_form = largest_gap(z, curves[2].value, gelu);
    report.number("largest |z σ(1.702 z) − GELU(z)|, 4,001 points", quick.size, 0.020335, decimals(6), "course §8");
    report.number("where: |z|", quick.at, 2.271, absolute(1e-9), "NumPy");
    report.number("largest |tanh form − GELU|", tanh_form.size, 0.0004732346287421585, absolute(1e-15), "NumPy");
    report.number("where: |z|", tanh_form.at, 2.7, absolute(1e-9), "NumPy");
    report.number("largest |SiLU − GELU|", largest_gap(z, curves[4].value, gelu).size, 0.19300196999859498,
        absolute(1e-15), "NumPy");

    Plot values{"values", "Activations", {"z"}, {"φ(z)"}, {}}, slopes{"slopes", "Their slopes", {"z"}, {"φ′(z)"}, {}};
    Plot errors{"errors", "Distance from exact GELU", {"z"}, {"error"}, {}};
    for (const std::size_t i : {3, 2}) errors.series.push_back(series(all[i].name, z, curves[i].value - gelu));
    for (const std::size_t i : {0, 1, 3, 4}) { // the tanh form would cover GELU
        values.series.push_back(series(all[i].name, z, curves[i].value));
        slopes.series.push_back(series(all[i].name, z, curves[i].slope));
    }
    report.plot(std::move(values));
    report.plot(std::move(slopes));
    report.plot(std::move(errors));
    const X x = Tape().variable(xt::xarray<double>{-quick.at, 0, quick.at}, "z");
    report.tape((x * sigmoid(1.702 * x) - gelu_erf(x)).named("z σ(1.702 z) − GELU"));
}

} // namespace chalkgrad::activation_gallery_experiment
