// Course §9: gpt-oss's activation on the slice g = u = z: the gate alone saturates near 7, the product approaches 56.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::gpt_oss_slice_experiment {

Array<double> product(const Array<double>& z) {
    const X g = Tape().constant(z);
    return swiglu_act(g, g, gpt_oss_gate).value();
}
Array<double> gate(const Array<double>& z) {
    const X g = Tape().constant(z);
    return swiglu_act(g, 0 * g, gpt_oss_gate).value(); // u = 0 leaves gate · (0 + 1)
}

void run(Report& report, const ExperimentOptions&) {
    Table& table = report.table({"products", {"z", "gate factor", "product"}});
    for (const auto& [z, course] :
        Rows<double, double>{{-9, 1.2019067919351053e-05}, {-7, 0.0002812301800968114}, {-3, 0.036142619415571925},
            {-2, 0.06434137685579186}, {-1, 0}, {0, 0}, {1, 1.6915915318656425}, {3, 11.927714761168856},
            {7, 55.999625026426536}, {9, 55.999625026426536}, {20, 55.999625026426536}, {1000, 55.999625026426536}}) {
        report.number(fmt::format("product at z = {:g}", z), product({z})[0], course, relative(1e-13),
            "course §9; digits from NumPy");
        table.rows.push_back({z, gate({z})[0], product({z})[0]});
    }
    report.number("gate factor at z = −9", gate({-9})[0], -2.0031779865585087e-06, relative(1e-13),
        "course §9: small and negative");
    report.number("gate factor at z = 9", gate({9})[0], 6.999953128303317, relative(1e-14), "course §9: near 7");
    report.number(
        "product at 9 − product at 7", product({9})[0] - product({7})[0], 0, exact, "course §9: they coincide");

    const Array<double> all = linspace(-10, 10, 401), negative = linspace(-9, 0.2, 185);
    report.plot({"slice", "The gate's curve alone cannot give the product", {"z = g = u"}, {"value"},
        {series("gate factor", all, gate(all)), series("product", all, product(all))}});
    report.plot({"negative", "Left of −1 a negative gate meets a negative u + 1", {"z = g = u"}, {"value"},
        {series("gate factor", negative, gate(negative)), series("product", negative, product(negative))}});
    const X both = Tape().variable(Array<double>{-9, -2, -1, 0, 3, 9}, "z");
    report.tape(swiglu_act(both, both, gpt_oss_gate).named("product"));
}

} // namespace chalkgrad::gpt_oss_slice_experiment
