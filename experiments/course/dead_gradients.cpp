// Course §9: gpt-oss clamps gate and up at 7. The wider its inputs, the more of them get no gradient at all.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::dead_gradients_experiment {

double share_of_zeros(const Array<double>& x) { return double(std::count(x.begin(), x.end(), 0.0)) / double(x.size()); }

double mean_size(const Array<double>& x) {
    const auto add = [](double sum, double v) { return sum + std::abs(v); };
    return std::accumulate(x.begin(), x.end(), 0.0, add) / double(x.size());
}

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(81);
    const Array<double> g0 = rng.standard_normal({200000}), u0 = rng.standard_normal({200000});
    Plot& shares = report.plot(
        {"shares", "Inputs of the clamped gate that get no gradient", {"σ of gate and up", true}, {"share"}});
    Plot& sizes =
        report.plot({"sizes", "Size of what comes out", {"σ of gate and up", true}, {"RMS of the output", true}});
    for (const double sigma : {1., 2., 4., 8., 16.}) {
        Tape tape;
        const X g = tape.variable(g0 * sigma, "g"), u = tape.variable(u0 * sigma, "u");
        const X a = swiglu_act(g, u, gpt_oss_gate);
        sum(a).backward();
        const double rms = root_mean_square(a.value()), plain = root_mean_square(swiglu_act(g, u).value());
        const double dead_gate = share_of_zeros(g.grad()), dead_up = share_of_zeros(u.grad());
        judge(report, fmt::format("sigma = {}", sigma), relative(1e-12),
            {{"share of gate gradients = 0", dead_gate}, {"share of up gradients = 0", dead_up},
                {"mean |da/dg|", mean_size(g.grad())}, {"mean |da/du|", mean_size(u.grad())},
                {"RMS of the output", rms}, {"RMS of plain SwiGLU", plain}});

        const double beyond = std::erfc(7 / sigma / std::sqrt(2.)); // the normal distribution's share outside ±7
        shares.at("gate").add(sigma, dead_gate);
        shares.at("up").add(sigma, dead_up);
        shares.at("P(g > 7)", Mark::line).add(sigma, beyond / 2);
        shares.at("P(|u| > 7)", Mark::line).add(sigma, beyond);
        sizes.at("gpt-oss, limits ±7").add(sigma, rms);
        sizes.at("SwiGLU without limits").add(sigma, plain);
    }
    report.measured("sigma = 16: share of up gradients = 0, over the normal distribution's share outside 7",
        shares.at("up").y.back() / shares.at("P(|u| > 7)").y.back(),
        "course §9: beyond a limit the slope is 0; up has two limits, the gate only the upper one");
    Tape shown; // inside, beyond each limit alone, beyond both
    const X gate = shown.variable(Array<double>{1, 8, 1, 1, 8}, "g"),
            up = shown.variable(Array<double>{1, 1, 8, -8, 8}, "u");
    report.tape(sum(swiglu_act(gate, up, gpt_oss_gate)));
}

} // namespace chalkgrad::dead_gradients_experiment
