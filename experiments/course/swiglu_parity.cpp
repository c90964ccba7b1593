// Course §9, bridge B08 from NumPy to PyTorch: the clamped SwiGLU of seed 8, its gradient on and beyond the limits.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::swiglu_parity_experiment {

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(8);
    Tape tape;
    const X g = tape.variable(rng.uniform(-4, 4, {3, 5}), "g"), u = tape.variable(rng.uniform(-4, 4, {3, 5}), "u");
    const X y = swiglu_act(g, u, gpt_oss_gate);
    report.tape(y);
    const double numpy[] = {
        -0.0460133008045555, -3.7087067022422104, -0.19564404036330382, 4.152343241754681, 6.394257996980398};
    for (std::size_t j = 0; j < 5; ++j)
        report.seeded_number(fmt::format("y[0, {}]", j), y.data()[j], numpy[j], relative(1e-13), "NumPy, bridge B08");
    report.seeded_number("sum of y", sum(y).item(), 7.929510329980159, relative(1e-13), "NumPy, bridge B08");

    const auto on_slice = [](const std::vector<X>& x) { return swiglu_act(x[0], x[0], gpt_oss_gate); };
    report.number("gradcheck inside the limits: relative error",
        gradcheck({y}, {g, u}, {.blind_spots = false}).difference, 0, absolute(1e-9), "bridge B08: gradcheck");
    report.number("gradcheck at g = u = ±9: relative error",
        gradcheck(on_slice, {Array<double>{-9, 9}}, {.blind_spots = false}).difference, 0, absolute(1e-9),
        "bridge B08: gradcheck on either side");
    const X extreme = swiglu_act(
        tape.constant(Array<double>{-1000, -9, 0, 9, 1000}), tape.constant(Array<double>{1, 1, 1, 1, 1}), gpt_oss_gate);
    report.number("values at ±1000 that are not finite",
        double(std::ranges::count_if(extreme.value(), [](double v) { return !std::isfinite(v); })), 0, exact,
        "bridge B08: no overflow");

    // Along the slice, as two separate leaves.
    Tape swept;
    const Array<double> axis = linspace(-10, 10, 401);
    const X gate = swept.variable(axis), up = swept.variable(axis);
    sum(swiglu_act(gate, up, gpt_oss_gate)).backward();
    report.plot({"slopes", "Gradients on the slice g = u = z: beyond a limit its branch is silent", {"z = g = u"},
        {"derivative"}, {series("by the gate", axis, gate.grad()), series("by up", axis, up.grad())}});
}

} // namespace chalkgrad::swiglu_parity_experiment
