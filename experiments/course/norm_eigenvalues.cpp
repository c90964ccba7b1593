// Course §5: the Jacobian of RMSNorm has two eigenvalues, r across x and r ε/(⟨x²⟩ + ε) along it.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::norm_eigenvalues_experiment {

constexpr double eps = 1e-6;

struct Eigenvalues {
    double across, along;
};

Eigenvalues closed_form(double rms) {
    const double r = 1 / std::sqrt(rms * rms + eps);
    return {r, r * eps / (rms * rms + eps)};
}

/// From the Jacobian on the tape, which is symmetric and positive: its singular values are its eigenvalues.
Eigenvalues of_jacobian(double rms) {
    const Array<double> x = rms * Array<double>{1, -1, 1, 1, -1, 1, -1, -1};
    const std::vector<double> values = singular_values(jacobian([](const auto& v) { return rms_norm(v, {}, eps); }, x));
    return {values.front(), values.back()};
}

void run(Report& report, const ExperimentOptions&) {
    for (const double rms : {1., 1e-3, 0.}) {
        const Eigenvalues tape = of_jacobian(rms), formula = closed_form(rms);
        const auto check = [&](const char* column, double value, double expected, const char* text) {
            const std::string row = fmt::format("RMS {}", rms), name = fmt::format("{}: {}", row, column);
            report.number(name, value, reference(report, row, column), relative(1e-9), "closed form, course §5");
            report.number(name + ", tape / formula", value / expected, 1, relative(1e-9), text);
        };
        check("across x", tape.across, formula.across, "r");
        check("along x", tape.along, formula.along, "r ε/(⟨x²⟩ + ε)");
    }

    Plot& plot = report.plot({"eigenvalues", "Eigenvalues of RMSNorm's Jacobian, ε = 1e-6", {"RMS of the input", true},
        {"eigenvalue", true}});
    for (const double rms : geomspace(1e-6, 10, 71)) {
        plot.at("across x", Mark::line).add(rms, closed_form(rms).across);
        plot.at("along x", Mark::line).add(rms, closed_form(rms).along);
    }
    for (const double rms : geomspace(1e-6, 10, 15)) {
        plot.at("across, tape", Mark::points).add(rms, of_jacobian(rms).across);
        plot.at("along, tape", Mark::points).add(rms, of_jacobian(rms).along);
    }
}

} // namespace chalkgrad::norm_eigenvalues_experiment
