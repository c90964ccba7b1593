// Course §5: half overflows when 1000 is squared and loses 1e-4 squared. Promotion helps only before the squaring.
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/tape/cast.hpp>
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::low_precision_experiment {
namespace {

/// The norm of a row stored as T, with the mean in double: squared in double, or in T and promoted afterwards.
template <class T> X norm(const Array<double>& row, double eps, bool promote_first) {
    Tape tape;
    const Var<T> x = cast<T>(tape.variable(row, "row"));
    const X squares = promote_first ? square(cast<double>(x)) : cast<double>(square(x));
    return cast<double>(x) * rsqrt(mean(squares) + eps);
}

double rms(const X& y) { return sqrt(mean(square(y))).item(); }

/// Output root mean square over the magnitude of the input.
template <class T>
Series sweep(
    const char* name, const Array<double>& row, const Array<double>& magnitudes, double eps, bool promote_first) {
    return curve(name, magnitudes, [&](double a) { return rms(norm<T>(Array<double>(a * row), eps, promote_first)); });
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    const Array<double> thousand{1000, 1000, 1000, 1000}, small{1e-4, 1e-4, 1e-4, 1e-4};
    Tape tape;
    report.number("half: mean square at 1000", mean(square(cast<half>(tape.constant(thousand)))).item(),
        std::numeric_limits<double>::infinity(), exact, "course §5: squaring overflows");
    report.number("half: RMSNorm at 1000", cast<double>(rms_norm(cast<half>(tape.constant(thousand)))).value()[0], 1,
        exact, "course §5, bridge B07");
    report.number("bfloat16: RMSNorm at 1000",
        cast<double>(rms_norm(cast<bfloat16>(tape.constant(thousand)))).value()[0], 1, exact, "course §5, bridge B07");
    report.number("half: 1e-4 promoted after squaring, ε = 1e-10", norm<half>(small, 1e-10, false).value()[0],
        10.001659393310547, relative(1e-12), "NumPy: the square is lost");
    report.number("half: 1e-4 promoted before squaring", norm<half>(small, 1e-10, true).value()[0], 0.9950388246171448,
        relative(1e-12), "NumPy");

    constexpr double eps = 1e-10;
    Generator rng = options.rng(7);
    const Array<double> row = rms_norm(tape.constant(rng.standard_normal({64})), {}, 1e-300).value();
    const Array<double> magnitudes = geomspace(1e-6, 6e4, 109);
    report.plot({"sweep", "Output scale of a row stored in low precision, ε = 1e-10", {"RMS of the input", true},
        {"RMS of the output", true},
        {sweep<half>("half, squared first", row, magnitudes, eps, false),
            sweep<half>("half, promoted first", row, magnitudes, eps, true),
            sweep<bfloat16>("bfloat16, squared first", row, magnitudes, eps, false)}});

    // Where nothing over- or underflows, what is left is the rounding of squares: 11 bits against 8.
    Plot errors{"rounding", "Rounding the squares costs bfloat16 three bits more than half", {"RMS of the input", true},
        {"relative error of the scale", true}, {}};
    const Array<double> ordinary = geomspace(0.1, 10, 61);
    const auto error_of = [&](const char* name, const Series& rounded, const Series& exact) {
        Series error{name, rounded.x, {}, Mark::points};
        for (std::size_t i = 0; i < rounded.y.size(); ++i) error.y.push_back(std::abs(rounded.y[i] / exact.y[i] - 1));
        errors.series.push_back(std::move(error));
        return *std::max_element(errors.series.back().y.begin(), errors.series.back().y.end());
    };
    report.measured("half: largest error of the scale, RMS 0.1–10",
        error_of("half", sweep<half>("", row, ordinary, eps, false), sweep<half>("", row, ordinary, eps, true)),
        "half keeps 11 bits: a rounding is at most 4.9e-4");
    report.measured("bfloat16: largest error of the scale, RMS 0.1–10",
        error_of(
            "bfloat16", sweep<bfloat16>("", row, ordinary, eps, false), sweep<bfloat16>("", row, ordinary, eps, true)),
        "bfloat16 keeps 8 bits: a rounding is at most 3.9e-3, its range is float's");
    report.plot(std::move(errors));
    report.tape(norm<half>(small, 1e-10, false).named("y"));
}

} // namespace chalkgrad::low_precision_experiment
