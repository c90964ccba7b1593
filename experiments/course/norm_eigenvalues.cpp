// Course §5: the Jacobian of RMSNorm has two eigenvalues, r across x and r ε/(⟨x²⟩ + ε) along it.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::norm_eigenvalues_experiment {
namespace {

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

} // namespace

void run(Report& report, const ExperimentOptions&) {
    const auto check = [&](const std::string& row, const char* column, double tape, double formula, const char* text) {
        report.number(fmt::format("{}: {}", row, column), tape, reference(report, row, column), relative(1e-9),
            "closed form, course §5");
        report.number(fmt::format("{}: {}, tape / formula", row, column), tape / formula, 1, relative(1e-9), text);
    };
    for (const double rms : {1., 1e-3, 0.}) {
        const std::string row = fmt::format("RMS {}", rms);
        const Eigenvalues tape = of_jacobian(rms), formula = closed_form(rms);
        check(row, "across x", tape.across, formula.across, "r");
        check(row, "along x", tape.along, formula.along, "r ε/(⟨x²⟩ + ε)");
    }

    Plot plot{"eigenvalues", "Eigenvalues of RMSNorm's Jacobian, ε = 1e-6", {"RMS of the input", true},
        {"eigenvalue", true}, {}};
    const auto add = [&](const char* kind, Mark mark, const Array<double>& sizes, Eigenvalues (*of)(double rms)) {
        plot.series.push_back(curve(
            fmt::format("across{}", kind), sizes, [&](double rms) { return of(rms).across; }, mark));
        plot.series.push_back(curve(
            fmt::format("along{}", kind), sizes, [&](double rms) { return of(rms).along; }, mark));
    };
    add(" x", Mark::line, geomspace(1e-6, 10, 71), closed_form);
    add(", tape", Mark::points, geomspace(1e-6, 10, 15), of_jacobian);
    report.plot(plot);
}

} // namespace chalkgrad::norm_eigenvalues_experiment
