// Course §7: c tanh(s/c) bounds a score and leaves Q and K alone. The price is a slope that dies where the cap bites.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/elementwise/softcap.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>

namespace chalkgrad::soft_cap_experiment {
namespace {

Curve capped(const Array<double>& scores, double cap) {
    return values_and_slopes(scores, [&](const X& s) { return softcap(s, cap); });
}

} // namespace

void run(Report& report, const ExperimentOptions&) {
    const Array<double> s{10, 30, 60, 100, 1000};
    const double value[] = {9.64538212594903, 22.847824678672946, 28.920827402274508, 29.92373902421512, 30};
    const double slope[] = {
        0.8966295596049144, 0.4199743416140261, 0.07065082485316447, 0.005077603122961362, 4.457532631361346e-29};
    const Curve here = capped(s, 30);
    for (std::size_t i = 0; i < s.size(); ++i) {
        report.number(fmt::format("c = 30, s = {:g}: value", s[i]), here.value[i], value[i], relative(1e-14), "NumPy");
        report.number(fmt::format("c = 30, s = {:g}: slope", s[i]), here.slope[i], slope[i], relative(1e-12), "NumPy");
    }
    report.measured(
        "c = 30, s = 1000: distance to the cap", 30 - here.value[4], "in double the bound is reached: ≤, no longer <");

    const Array<double> axis = linspace(-150, 150, 301);
    Plot values{"values", "The capped score", {"score s"}, {"c tanh(s/c)"}, {}},
        slopes{"slopes", "Its slope", {"score s"}, {"d/ds"}, {}};
    for (const double cap : {30, 50}) {
        const Curve curve = capped(axis, cap);
        values.series.push_back(series(fmt::format("c = {}", cap), axis, curve.value));
        slopes.series.push_back(series(fmt::format("c = {}", cap), axis, curve.slope));
    }
    report.plot(std::move(values));
    report.plot(std::move(slopes));
    report.tape(softmax(softcap(Tape().variable(xt::xarray<double>{10, 30, 60, 100}, "s"), 30)).named("p"));
}

} // namespace chalkgrad::soft_cap_experiment
