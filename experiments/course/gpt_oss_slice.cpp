// Course §9: gpt-oss's activation on the slice g = u = z: the gate alone saturates near 7, the product approaches 56.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>

namespace chalkgrad::gpt_oss_slice_experiment {
namespace {

struct Slice {
    Array<double> gate, product;
};

Slice slice_at(const Array<double>& z) {
    Tape tape;
    const X g = tape.constant(z);
    return {swiglu_act(g, 0 * g, gpt_oss_gate).value(),
        swiglu_act(g, g, gpt_oss_gate).value()}; // u = 0 leaves gate · (0 + 1)
}

} // namespace

void run(Report& report, const ExperimentOptions&) {
    const Array<double> z{-9, -7, -3, -2, -1, 0, 1, 3, 7, 9, 20, 1000};
    const double course[] = {1.2019067919351053e-05, 0.0002812301800968114, 0.036142619415571925, 0.06434137685579186,
        0, 0, 1.6915915318656425, 11.927714761168856, 55.999625026426536, 55.999625026426536, 55.999625026426536,
        55.999625026426536};
    const Slice here = slice_at(z);
    Table table{"products", {"z", "gate factor", "product"}, {}};
    for (std::size_t i = 0; i < z.size(); ++i) {
        report.number(fmt::format("product at z = {:g}", z[i]), here.product[i], course[i], relative(1e-13),
            "course §9; digits from NumPy");
        table.rows.push_back({z[i], here.gate[i], here.product[i]});
    }
    report.number("gate factor at z = −9", here.gate[0], -2.0031779865585087e-06, relative(1e-13),
        "course §9: small and negative");
    report.number("gate factor at z = 9", here.gate[9], 6.999953128303317, relative(1e-14), "course §9: near 7");
    report.number(
        "product at 9 − product at 7", here.product[9] - here.product[8], 0, exact, "course §9: they coincide");
    report.table(std::move(table));

    const Array<double> axis = linspace(-10, 10, 401);
    const Slice curve = slice_at(axis);
    report.plot({"slice", "The gate's curve alone cannot give the product", {"z = g = u"}, {"value"},
        {series("gate factor", axis, curve.gate), series("product", axis, curve.product)}});
    const Array<double> negative = linspace(-9, 0.2, 185);
    const Slice detail = slice_at(negative);
    report.plot({"negative", "Left of −1 a negative gate meets a negative u + 1", {"z = g = u"}, {"value"},
        {series("gate factor", negative, detail.gate), series("product", negative, detail.product)}});
    const X both = Tape().variable(xt::xarray<double>{-9, -2, -1, 0, 3, 9}, "z");
    report.tape(swiglu_act(both, both, gpt_oss_gate).named("product"));
}

} // namespace chalkgrad::gpt_oss_slice_experiment
