// Course §7: c tanh(s/c) bounds a score and leaves Q and K alone. The price is a slope that dies where the cap bites.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::soft_cap_experiment {

Curve capped(const Array<double>& scores, double cap) {
    return values_and_slopes(scores, [&](const X& s) { return softcap(s, cap); });
}

void run(Report& report, const ExperimentOptions&) {
    for (const auto& [s, value, slope] : Rows<double, double, double>{{10, 9.64538212594903, 0.8966295596049144},
             {30, 22.847824678672946, 0.4199743416140261}, {60, 28.920827402274508, 0.07065082485316447},
             {100, 29.92373902421512, 0.005077603122961362}, {1000, 30, 4.457532631361346e-29}}) {
        const Curve here = capped({s}, 30);
        report.number(fmt::format("c = 30, s = {:g}: value", s), here.value[0], value, relative(1e-14), "NumPy");
        report.number(fmt::format("c = 30, s = {:g}: slope", s), here.slope[0], slope, relative(1e-12), "NumPy");
    }
    report.measured("c = 30, s = 1000: distance to the cap", 30 - capped({1000}, 30).value[0],
        "in double the bound is reached: ≤, no longer <");

    const Array<double> axis = linspace(-150, 150, 301);
    const Curve c30 = capped(axis, 30), c50 = capped(axis, 50);
    report.plot({"values", "The capped score", {"score s"}, {"c tanh(s/c)"},
        {series("c = 30", axis, c30.value), series("c = 50", axis, c50.value)}});
    report.plot({"slopes", "Its slope", {"score s"}, {"d/ds"},
        {series("c = 30", axis, c30.slope), series("c = 50", axis, c50.slope)}});
    report.tape(softmax(softcap(Tape().variable(Array<double>{10, 30, 60, 100}, "s"), 30)).named("p"));
}

} // namespace chalkgrad::soft_cap_experiment
