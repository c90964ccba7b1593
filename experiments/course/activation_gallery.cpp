// Course §8: the activation functions side by side, values and slopes, and how far the approximations of GELU are from
// it.
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

#include <cmath>

namespace chalkgrad::activation_gallery_experiment {
namespace {

struct Activation {
    const char* name;
    Var<double> (*f)(const Var<double>&);
    Array<double> value = {}, slope = {};
};

void run(Report& report, const ExperimentOptions&) {
    const Array<double> z = linspace(-6, 6, 4001);
    Activation all[] = {{"ReLU", relu<double>}, {"GELU", gelu_erf<double>}, {"GELU, tanh form", gelu_tanh<double>},
        {"z σ(1.702 z)", [](const Var<double>& x) { return quick_gelu(x); }}, {"SiLU", silu<double>}};
    for (Activation& each : all) {
        Tape tape;
        const Var<double> x = tape.variable(z), y = each.f(x);
        sum(y).backward();
        each.value = y.value(), each.slope = x.grad();
    }

    /// Where an activation is farthest from GELU.
    struct Worst {
        double error = 0, at = 0;
    };
    Plot errors{"errors", "Distance from exact GELU", {"z"}, {"error"}, {}};
    const auto worst = [&](const Activation& each, bool drawn) {
        Array<double> error = each.value;
        Worst worst;
        for (std::size_t i = 0; i < z.size(); ++i) {
            error[i] -= all[1].value[i];
            if (std::abs(error[i]) > worst.error) worst = {std::abs(error[i]), std::abs(z[i])};
        }
        if (drawn) errors.series.push_back(series(each.name, z, error));
        return worst;
    };
    const Worst quick = worst(all[3], true), tanh_form = worst(all[2], true), silu_itself = worst(all[4], false);
    report.number(
        "largest |z σ(1.702 z) − GELU(z)|, 4,001 points", quick.error, 0.020335, Tolerance::decimals(6), "course §8");
    report.number("where: |z|", quick.at, 2.271, Tolerance::absolute(1e-9), "NumPy");
    report.number(
        "largest |tanh form − GELU|", tanh_form.error, 0.0004732346287421585, Tolerance::absolute(1e-15), "NumPy");
    report.number("where: |z|", tanh_form.at, 2.7, Tolerance::absolute(1e-9), "NumPy");
    report.number("largest |SiLU − GELU|", silu_itself.error, 0.19300196999859498, Tolerance::absolute(1e-15), "NumPy");

    Plot values{"values", "Activations", {"z"}, {"φ(z)"}, {}}, slopes{"slopes", "Their slopes", {"z"}, {"φ′(z)"}, {}};
    for (const Activation& each : all) {
        if (&each == &all[2]) continue; // it would cover GELU
        values.series.push_back(series(each.name, z, each.value));
        slopes.series.push_back(series(each.name, z, each.slope));
    }
    report.plot(std::move(values));
    report.plot(std::move(slopes));
    report.plot(std::move(errors));
    const Var<double> x = Tape().variable(xt::xarray<double>{-quick.at, 0, quick.at}, "z");
    report.tape((x * sigmoid(1.702 * x) - gelu_erf(x)).named("z σ(1.702 z) − GELU"));
}

} // namespace

Experiment experiment() {
    return {"activation_gallery", "8", "How do the activations differ, and how good is z σ(1.702 z) for GELU?", run};
}

} // namespace chalkgrad::activation_gallery_experiment
