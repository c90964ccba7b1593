// Course §§8–9: what an activation makes of N(0, 1), forward E[φ²] and backward E[φ′²], by quadrature; no draws.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>

namespace chalkgrad::gate_moments_experiment {
namespace {

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

} // namespace

void run(Report& report, const ExperimentOptions&) {
    const Quadrature grid;
    const auto check = [&](const char* row, const char* column, double value) {
        report.number(std::string(row) + ": " + column, value, reference(report, row, column), absolute(1e-12),
            "PyTorch, Gauss-Legendre");
    };
    struct Activation {
        const char* name;
        X (*apply)(const X&);
    };
    Plot values{"activations", "The activations behind E[φ²]", {"z"}, {"φ(z)"}, {}};
    Plot slopes{"slopes", "Their slopes, behind E[φ′²]", {"z"}, {"φ′(z)"}, {}};
    Table table{"moments", {"activation", "E[φ²]", "E[φ′²]"}, {}};
    Tape tape;
    const X weight = tape.constant(grid.weight);
    const auto moment = [&](const Array<double>& f) { return sum(weight * square(tape.constant(f))).item(); };
    for (const Activation& a :
        {Activation{"linear", [](const X& z) { return 1 * z; }}, {"relu", relu<double>}, {"gelu", gelu_erf<double>},
            {"silu", silu<double>}, {"quick_gelu", [](const X& z) { return quick_gelu(z); }}, {"tanh", tanh<double>}}) {
        const auto [phi, slope] = values_and_slopes(grid.z, a.apply);
        const double forward = moment(phi), backward = moment(slope);
        check(a.name, "E[phi^2]", forward);
        check(a.name, "E[phi'^2]", backward);
        table.rows.push_back({a.name, forward, backward});
        Series value{a.name}, of_slope = value;
        for (std::size_t i = 0; i < Quadrature::cells; ++i) {
            if (std::abs(grid.z(i)) > 4) continue;
            value.add(grid.z(i), phi(i));
            of_slope.add(grid.z(i), slope(i));
        }
        values.series.push_back(std::move(value));
        slopes.series.push_back(std::move(of_slope));
    }

    // gpt-oss: gate and up independent, so the mean runs over both. The limits of ±7 are out of reach at σ = 1.
    const X g = tape.constant(grid.z);
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

} // namespace chalkgrad::gate_moments_experiment
