// Course §15: gpt-oss packs gate and up interleaved. Splitting in halves keeps every shape: another function.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::packed_gates_experiment {

X interleaved(const X& p) { return gpt_oss_packed(p); }
X halves(const X& p) { return swiglu_act(slice(p, "..., :4"), slice(p, "..., 4:"), gpt_oss_gate); }

void run(Report& report, const ExperimentOptions& options) {
    const X p = Tape().variable(options.rng(8).uniform(-4, 4, {3, 8}));
    const X right = interleaved(p), wrong = halves(p);
    report.number(
        "shapes that differ", right.shape() == wrong.shape() ? 0 : 1, 0, exact, "course §15: shapes are preserved");
    report.seeded_number("largest difference of the values", largest(right.value() - wrong.value()), 5.876908183528705,
        relative(1e-13), "NumPy; course §15: another function");
    report.seeded_number("sum, interleaved", sum(right).item(), -3.980007347260318, relative(1e-13), "NumPy");
    report.seeded_number("sum, halves", sum(wrong).item(), -2.2517781844927507, relative(1e-13), "NumPy");

    const Array<double> row = slice(p, "0").value();
    report.heat_map(jacobian_map("interleaved", "Interleaved: output i reads inputs 2i and 2i + 1", "packed input",
        "output", "∂a/∂p", jacobian(interleaved, row)));
    report.heat_map(jacobian_map("halves", "Halves: output i reads inputs i and i + 4", "packed input", "output",
        "∂a/∂p", jacobian(halves, row)));
    const X packed = Tape().variable(row, "gate and up");
    report.tape((interleaved(packed) - halves(packed)).named("apart"));
}

} // namespace chalkgrad::packed_gates_experiment
