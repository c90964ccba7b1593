// Course §§8–9: what an activation makes of N(0, 1), forward E[φ²] and backward E[φ′²], by quadrature; no draws.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::gate_moments_experiment {

/// Midpoints of cells on [−12, 12] and the normal distribution's weight of each. For smooth functions the midpoint rule
/// converges faster than any power of the step; no point lies on ReLU's kink.
constexpr std::size_t cells = 240;
constexpr double cell = 24.0 / cells;
double midpoint(std::size_t i) { return -12 + (double(i) + 0.5) * cell; }
double normal_weight(double z) { return cell * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

void run(Report& report, const ExperimentOptions&) {
    Array<double> z = Array<double>::from_shape({cells}), weights = z;
    for (std::size_t i = 0; i < cells; ++i) z(i) = midpoint(i), weights(i) = normal_weight(z(i));
    const auto check = [&](const std::string& row, const char* column, double value) {
        report.number(
            row + ": " + column, value, reference(report, row, column), absolute(1e-12), "PyTorch, Gauss-Legendre");
    };
    Plot& values = report.plot({"activations", "The activations behind E[φ²]", {"z"}, {"φ(z)"}});
    Plot& slopes = report.plot({"slopes", "Their slopes, behind E[φ′²]", {"z"}, {"φ′(z)"}});
    Table& table = report.table({"moments", {"activation", "E[φ²]", "E[φ′²]"}});
    Tape tape;
    const X weight = tape.constant(weights);
    const auto moment = [&](const X& f) { return sum(weight * square(f)).item(); };
    for (const auto& [name, activation] :
        Rows<std::string, X (*)(const X&)>{{"linear", [](const X& x) { return 1 * x; }}, {"relu", relu<double>},
            {"gelu", gelu_erf<double>}, {"silu", silu<double>},
            {"quick_gelu", [](const X& x) { return quick_gelu(x); }}, {"tanh", tanh<double>}}) {
        const auto [phi, slope] = values_and_slopes(z, activation);
        const double forward = moment(tape.constant(phi)), backward = moment(tape.constant(slope));
        check(name, "E[phi^2]", forward);
        check(name, "E[phi'^2]", backward);
        table.rows.push_back({name, forward, backward});
        for (std::size_t i = 0; i < cells; ++i) {
            if (std::abs(z(i)) > 4) continue;
            values.at(name, Mark::line).add(z(i), phi(i));
            slopes.at(name, Mark::line).add(z(i), slope(i));
        }
    }

    // gpt-oss: gate and up independent, so the mean runs over both. The limits of ±7 are out of reach at σ = 1.
    const X g = tape.constant(z);
    double product = 0;
    for (std::size_t j = 0; j < cells; ++j)
        product += weights(j) * moment(swiglu_act(g, 0 * g + z(j), {.alpha = 1.702, .shift_up = 1}));
    check("gpt-oss", "E[a^2]", product);
    table.rows.push_back({"gpt-oss gate and up", product, ""});
    report.measured("gpt-oss over SwiGLU: E[a^2] / E[silu^2]", product / reference(report, "silu", "E[phi^2]"),
        "no claim; the shift of the up branch doubles E[u^2], so equal weights do not mean equal scale");
}

} // namespace chalkgrad::gate_moments_experiment
