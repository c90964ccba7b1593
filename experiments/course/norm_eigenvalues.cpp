// Course §5: RMSNorm's Jacobian has two eigenvalues, r across x and r ε/(⟨x²⟩ + ε) along it; where the input is small,
// both are large.
#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/experiments/course/references.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

#include <cmath>

#include <fmt/format.h>

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

void run(Report& report, const ExperimentOptions&) {
    const Tolerance tolerance = Tolerance::relative(1e-9);
    for (const double rms : {1., 1e-3, 0.}) {
        const std::string row = fmt::format("RMS {}", rms);
        const Eigenvalues tape = of_jacobian(rms), formula = closed_form(rms);
        report.number(
            row + ": across x", tape.across, reference(report, row, "across x"), tolerance, "closed form, course §5");
        report.number(
            row + ": along x", tape.along, reference(report, row, "along x"), tolerance, "closed form, course §5");
        report.number(row + ": across x, tape / formula", tape.across / formula.across, 1, tolerance, "r");
        report.number(row + ": along x, tape / formula", tape.along / formula.along, 1, tolerance, "r ε/(⟨x²⟩ + ε)");
    }

    Plot plot{"eigenvalues", "Eigenvalues of RMSNorm's Jacobian, ε = 1e-6", {"RMS of the input", true},
        {"eigenvalue", true}, {}};
    plot.series = {{"across x", {}, {}, Mark::line}, {"along x", {}, {}, Mark::line},
        {"across, tape", {}, {}, Mark::points}, {"along, tape", {}, {}, Mark::points}};
    const auto add = [&](std::size_t first, double rms, const Eigenvalues& values) {
        for (const std::size_t i : {0, 1}) plot.series[first + i].x.push_back(rms);
        plot.series[first].y.push_back(values.across), plot.series[first + 1].y.push_back(values.along);
    };
    for (int i = -60; i <= 10; ++i) add(0, std::pow(10., i / 10.), closed_form(std::pow(10., i / 10.)));
    for (int i = -12; i <= 2; ++i) add(2, std::pow(10., i / 2.), of_jacobian(std::pow(10., i / 2.)));
    report.plot(plot);
}

} // namespace

Experiment experiment() {
    return {"norm_eigenvalues", "5", "How does RMSNorm stretch a gradient, by the size of its input?", run};
}

} // namespace chalkgrad::norm_eigenvalues_experiment
