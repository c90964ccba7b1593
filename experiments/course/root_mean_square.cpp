// Course §1: the mean of (1, −1) is 0, its root mean square is 1. What a norm measures is the second.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::root_mean_square_experiment {

X root_mean_square(const X& row) { return sqrt(mean(square(row), -1)); }

void run(Report& report, const ExperimentOptions&) {
    const Array<double> row{1, -1};
    report.number("mean of (1, −1)", mean(Tape().constant(row)).item(), 0, exact, "course §1");
    report.number("RMS of (1, −1)", root_mean_square(Tape().constant(row)).item(), 1, exact, "course §1");
    report.tape(root_mean_square(Tape().variable(row, "h")).named("RMS"));

    Plot& plot =
        report.plot({"signs", "Opposite signs hide from the mean", {"second coordinate s of (1, s)"}, {"size seen"}});
    for (const double s : linspace(-2, 2, 81)) {
        const X pair = Tape().constant(Array<double>{1, s});
        plot.at("mean", Mark::line).add(s, mean(pair).item());
        plot.at("RMS", Mark::line).add(s, root_mean_square(pair).item());
    }
}

} // namespace chalkgrad::root_mean_square_experiment
