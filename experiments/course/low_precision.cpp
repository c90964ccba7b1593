// Course §5: half overflows when 1000 is squared and loses 1e-4 squared. Promotion helps only before the squaring.
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::low_precision_experiment {

constexpr double eps = 1e-10;

/// The norm of a row stored as T, with the mean in double: squared in double, or in T and promoted afterwards.
template <class T> X norm(const Array<double>& row, bool promote_first) {
    const Var<T> x = cast<T>(Tape().variable(row, "row"));
    const X squares = promote_first ? square(cast<double>(x)) : cast<double>(square(x));
    return cast<double>(x) * rsqrt(mean(squares) + eps);
}

/// Root mean square of the norm of a · row.
template <class T> double output_rms(const Array<double>& row, double a, bool promote_first) {
    return sqrt(mean(square(norm<T>(Array<double>(a * row), promote_first)))).item();
}

template <class T> double rounding_error(const Array<double>& row, double a) {
    return std::abs(output_rms<T>(row, a, false) / output_rms<T>(row, a, true) - 1);
}

void run(Report& report, const ExperimentOptions& options) {
    Tape tape;
    const Array<double> small{1e-4, 1e-4, 1e-4, 1e-4};
    const X thousand = tape.constant(Array<double>{1000, 1000, 1000, 1000});
    report.number("half: mean square at 1000", mean(square(cast<half>(thousand))).item(),
        std::numeric_limits<double>::infinity(), exact, "course §5: squaring overflows");
    report.number("half: RMSNorm at 1000", cast<double>(rms_norm(cast<half>(thousand))).value()[0], 1, exact,
        "course §5, bridge B07");
    report.number("bfloat16: RMSNorm at 1000", cast<double>(rms_norm(cast<bfloat16>(thousand))).value()[0], 1, exact,
        "course §5, bridge B07");
    report.number("half: 1e-4 promoted after squaring, ε = 1e-10", norm<half>(small, false).value()[0],
        10.001659393310547, relative(1e-12), "NumPy: the square is lost");
    report.number("half: 1e-4 promoted before squaring", norm<half>(small, true).value()[0], 0.9950388246171448,
        relative(1e-12), "NumPy");

    Generator rng = options.rng(7);
    const Array<double> row = rms_norm(tape.constant(rng.standard_normal({64})), {}, 1e-300).value();
    Plot& sweep = report.plot({"sweep", "Output scale of a row stored in low precision, ε = 1e-10",
        {"RMS of the input", true}, {"RMS of the output", true}});
    for (const double a : geomspace(1e-6, 6e4, 109)) {
        sweep.at("half, squared first", Mark::line).add(a, output_rms<half>(row, a, false));
        sweep.at("half, promoted first", Mark::line).add(a, output_rms<half>(row, a, true));
        sweep.at("bfloat16, squared first", Mark::line).add(a, output_rms<bfloat16>(row, a, false));
    }
    // Where nothing over- or underflows, what is left is the rounding of squares: 11 bits against 8.
    Plot& errors = report.plot({"rounding", "Rounding the squares costs bfloat16 three bits more than half",
        {"RMS of the input", true}, {"relative error of the scale", true}});
    for (const double a : geomspace(0.1, 10, 61)) {
        errors.at("half", Mark::points).add(a, rounding_error<half>(row, a));
        errors.at("bfloat16", Mark::points).add(a, rounding_error<bfloat16>(row, a));
    }
    report.measured("half: largest error of the scale, RMS 0.1–10", largest(errors.at("half").y),
        "half keeps 11 bits: a rounding is at most 4.9e-4");
    report.measured("bfloat16: largest error of the scale, RMS 0.1–10", largest(errors.at("bfloat16").y),
        "bfloat16 keeps 8 bits: a rounding is at most 3.9e-3, its range is float's");
    report.tape(norm<half>(small, false).named("y"));
}

} // namespace chalkgrad::low_precision_experiment
