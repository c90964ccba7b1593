// Course §§8–9: what an activation makes of N(0, 1), forward E[φ²] and backward E[φ′²], by quadrature; no draws.
#include <chalkgrad/experiments/course/references.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

#include <cmath>
#include <numbers>

namespace chalkgrad::gate_moments_experiment {
namespace {

using X = Var<double>;

/// Midpoints of cells on [−12, 12] and the normal distribution's weight of each. For smooth functions the midpoint rule
/// converges faster than any power of the step; no point lies on ReLU's kink.
struct Quadrature {
    static constexpr std::size_t cells = 240;
    Array<double> z = Array<double>::from_shape({cells}), weight = z;
    Quadrature() {
        constexpr double step = 24.0 / cells;
        for (std::size_t i = 0; i < cells; ++i) {
            z(i) = -12 + (double(i) + 0.5) * step;
            weight(i) = step * std::exp(-z(i) * z(i) / 2) / std::sqrt(2 * std::numbers::pi);
        }
    }
};

void run(Report& report, const ExperimentOptions&) {
    const Quadrature grid;
    const Tolerance tolerance = Tolerance::absolute(1e-12);
    const auto check = [&](const char* row, const char* column, double value) {
        report.number(std::string(row) + ": " + column, value, reference(report, row, column), tolerance,
            "PyTorch, Gauss-Legendre");
    };
    struct Activation {
        const char* name;
        X (*apply)(const X&);
    };
    Plot values{"activations", "The activations behind E[φ²]", {"z"}, {"φ(z)"}, {}};
    Plot slopes{"slopes", "Their slopes, behind E[φ′²]", {"z"}, {"φ′(z)"}, {}};
    Table table{"moments", {"activation", "E[φ²]", "E[φ′²]"}, {}};
    for (const Activation& a :
        {Activation{"linear", [](const X& z) { return 1 * z; }}, Activation{"relu", [](const X& z) { return relu(z); }},
            Activation{"gelu", [](const X& z) { return gelu_erf(z); }},
            Activation{"silu", [](const X& z) { return silu(z); }},
            Activation{"quick_gelu", [](const X& z) { return quick_gelu(z); }},
            Activation{"tanh", [](const X& z) { return tanh(z); }}}) {
        Tape tape;
        const X z = tape.variable(grid.z, "z"), phi = a.apply(z), weight = tape.constant(grid.weight);
        sum(phi).backward(); // ∂Σφ/∂z is φ′, by the hand-derived backward
        const double forward = sum(weight * square(phi)).item(),
                     backward = sum(weight * square(tape.constant(z.grad()))).item();
        check(a.name, "E[phi^2]", forward);
        check(a.name, "E[phi'^2]", backward);
        table.rows.push_back({a.name, forward, backward});
        Series value{a.name, {}, {}, Mark::line}, of_slope = value;
        for (std::size_t i = 0; i < Quadrature::cells; ++i) {
            if (std::abs(grid.z(i)) > 4) continue;
            value.add(grid.z(i), phi.value()(i));
            of_slope.add(grid.z(i), z.grad()(i));
        }
        values.series.push_back(std::move(value));
        slopes.series.push_back(std::move(of_slope));
    }

    // gpt-oss: gate and up independent, so the mean runs over both. The limits of ±7 are out of reach at σ = 1.
    Tape tape;
    const X g = tape.constant(grid.z), weight = tape.constant(grid.weight);
    double product = 0;
    for (std::size_t j = 0; j < Quadrature::cells; ++j) {
        const X a = swiglu_act(g, 0 * g + grid.z(j), {.alpha = 1.702, .shift_up = 1});
        product += grid.weight(j) * sum(weight * square(a)).item();
    }
    check("gpt-oss", "E[a^2]", product);
    table.rows.push_back({"gpt-oss gate and up", product, ""});
    report.measured("gpt-oss over SwiGLU: E[a^2] / E[silu^2]", product / reference(report, "silu", "E[phi^2]"),
        "no claim; the shift of the up branch doubles E[u^2], so equal weights do not mean equal scale");
    report.plot(values);
    report.plot(slopes);
    report.table(table);
}

} // namespace

Experiment experiment() {
    return {
        "gate_moments", "9", "How much of a unit signal does an activation let through, forward and backward?", run};
}

} // namespace chalkgrad::gate_moments_experiment
