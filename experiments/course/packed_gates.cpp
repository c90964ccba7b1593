// Course §15: gpt-oss packs gate and up interleaved. Splitting in halves keeps every shape and computes another
// function.
#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/course/measure.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/shape/slice.hpp>

#include <cmath>

namespace chalkgrad::packed_gates_experiment {
namespace {

Var<double> interleaved(const Var<double>& p) { return gpt_oss_packed(p); }
Var<double> halves(const Var<double>& p) { return swiglu_act(slice(p, "..., :4"), slice(p, "..., 4:"), gpt_oss_gate); }

void run(Report& report, const ExperimentOptions& options) {
    Tape tape;
    const Var<double> p = tape.variable(Generator{Seed(options.seed_or(8))}.uniform(-4, 4, {3, 8}));
    const Var<double> right = interleaved(p), wrong = halves(p);
    const double apart = largest(right.value() - wrong.value());
    report.number("shapes that differ", right.shape() == wrong.shape() ? 0 : 1, 0, Tolerance::exact(),
        "course §15: shapes are preserved");
    report.seeded_number("largest difference of the values", apart, 5.876908183528705, Tolerance::relative(1e-13),
        "NumPy; course §15: another function");
    report.seeded_number(
        "sum, interleaved", sum(right).item(), -3.980007347260318, Tolerance::relative(1e-13), "NumPy");
    report.seeded_number("sum, halves", sum(wrong).item(), -2.2517781844927507, Tolerance::relative(1e-13), "NumPy");

    const Array<double> row = slice(p, "0").value();
    const auto show = [&](const char* name, const char* title, Var<double> (*f)(const Var<double>&)) {
        const Array<double> j = jacobian(f, row);
        report.heat_map({name, title, "packed input", "output", "∂a/∂p", 4, 8, {j.begin(), j.end()}, true});
    };
    show("interleaved", "Interleaved: output i reads inputs 2i and 2i + 1", interleaved);
    show("halves", "Halves: output i reads inputs i and i + 4", halves);
    const Var<double> packed = Tape().variable(row, "gate and up");
    report.tape((interleaved(packed) - halves(packed)).named("apart"));
}

} // namespace

Experiment experiment() { return {"packed_gates", "15", "Does it matter how gate and up are packed?", run}; }

} // namespace chalkgrad::packed_gates_experiment
