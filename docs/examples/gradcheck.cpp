// A norm whose backward forgets that the mean square depends on x, and what gradcheck says of it.
#include <chalkgrad/chalkgrad.hpp>
#include <iostream>

using namespace chalkgrad;

int main() {
    const auto inverse_rms = [](const Array<double>& x) {
        double square = 0;
        for (const double v : x) square += v * v;
        return 1 / std::sqrt(square / static_cast<double>(x.size()));
    };
    const auto forgetful_norm = [=](const Var<double>& x) {
        return custom(
            "forgetful_norm", [=](const Array<double>& x) { return Array<double>(inverse_rms(x) * x); },
            [=](const Array<double>& x, const Array<double>&, const Array<double>& gy) {
                return Array<double>(inverse_rms(x) * gy);
            },
            x);
    };
    Tape tape;
    const auto x = tape.variable(Array<double>{2, -1, 3, 0.5}, "x");
    const auto y = (2 * forgetful_norm(x)).named("y");

    const GradcheckReport report = gradcheck({y}, {x});
    std::cout << name(report.verdict) << ", " << report.failed << " of " << report.elements << " elements\n";
    const JacobianElement& worst = report.worst;
    std::cout << "worst: d " << worst.output << '[' << worst.output_index[0] << "] / d " << worst.input << '['
              << worst.index[0] << "]: backward " << worst.analytic << ", differences " << worst.numeric << '\n';
    for (const Blame& b : report.blame) std::cout << "line " << b.line << ", " << b.op << ": " << b.hint << '\n';
}
