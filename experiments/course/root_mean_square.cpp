// Course §1: the mean of (1, −1) is 0, its root mean square is 1. What a norm measures is the second.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::root_mean_square_experiment {
namespace {

X root_mean_square(const X& rows) { return sqrt(mean(square(rows), -1)); }

} // namespace

void run(Report& report, const ExperimentOptions&) {
    Tape tape;
    const X h = tape.constant(xt::xarray<double>{1, -1});
    report.number("mean of (1, −1)", mean(h).item(), 0, exact, "course §1");
    report.number("RMS of (1, −1)", root_mean_square(h).item(), 1, exact, "course §1");

    const Array<double> s = linspace(-2, 2, 81);
    Array<double> pairs = Array<double>::from_shape({81, 2});
    for (std::size_t i = 0; i < 81; ++i) pairs(i, 0) = 1, pairs(i, 1) = s[i];
    const X rows = tape.constant(pairs);
    report.plot({"signs", "Opposite signs hide from the mean", {"second coordinate s of (1, s)"}, {"size seen"},
        {series("mean", s, mean(rows, -1).value()), series("RMS", s, root_mean_square(rows).value())}});
    Tape shown;
    report.tape(root_mean_square(shown.variable(h.value(), "h")).named("RMS"));
}

} // namespace chalkgrad::root_mean_square_experiment
