// Course §9: gpt-oss clamps gate and up at 7. The wider its inputs, the more of them get no gradient at all.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>

namespace chalkgrad::dead_gradients_experiment {
namespace {

constexpr std::size_t draws = 200000;

double share_of_zeros(const Array<double>& x) { return double(std::count(x.begin(), x.end(), 0.0)) / double(x.size()); }

double mean_size(const Array<double>& x) {
    double sum = 0;
    for (const double v : x) sum += std::abs(v);
    return sum / double(x.size());
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(81);
    const Array<double> g0 = rng.standard_normal({draws}), u0 = rng.standard_normal({draws});

    Plot shares{"shares", "Inputs of the clamped gate that get no gradient", {"σ of gate and up", true}, {"share"}, {}};
    Plot sizes{"sizes", "Size of what comes out", {"σ of gate and up", true}, {"RMS of the output", true}, {}};
    shares.series = {{"gate", {}, {}, Mark::line_points}, {"up", {}, {}, Mark::line_points},
        {"P(g > 7)", {}, {}, Mark::line}, {"P(|u| > 7)", {}, {}, Mark::line}};
    sizes.series = {
        {"gpt-oss, limits ±7", {}, {}, Mark::line_points}, {"SwiGLU without limits", {}, {}, Mark::line_points}};
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
        for (Series& series : shares.series) series.x.push_back(sigma);
        for (Series& series : sizes.series) series.x.push_back(sigma);
        const double beyond = std::erfc(7 / sigma / std::sqrt(2.)); // the normal distribution's share outside ±7
        const double of_plot[] = {dead_gate, dead_up, beyond / 2, beyond};
        for (std::size_t i = 0; i < 4; ++i) shares.series[i].y.push_back(of_plot[i]);
        sizes.series[0].y.push_back(rms), sizes.series[1].y.push_back(plain);
    }
    report.measured("sigma = 16: share of up gradients = 0, over the normal distribution's share outside 7",
        shares.series[1].y.back() / shares.series[3].y.back(),
        "course §9: beyond a limit the slope is 0; up has two limits, the gate only the upper one");
    report.plot(shares);
    report.plot(sizes);
    Tape shown; // inside, beyond each limit alone, beyond both
    const X gate = shown.variable(xt::xarray<double>{1, 8, 1, 1, 8}, "g"),
            up = shown.variable(xt::xarray<double>{1, 1, 8, -8, 8}, "u");
    report.tape(sum(swiglu_act(gate, up, gpt_oss_gate)));
}

} // namespace chalkgrad::dead_gradients_experiment
