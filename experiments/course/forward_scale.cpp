// Course §6: one input and one stack of 36 random matrices in three recurrences. Where the norm sits decides the scale.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/norm/rms_norm_floor.hpp>

namespace chalkgrad::forward_scale_experiment {
namespace {

constexpr std::size_t depth = 36, d = 256;

/// h₀ and then, step after step, what the recurrence makes of it.
using Step = X (*)(const X& h, const X& w);
const Step none = [](const X& h, const X& w) { return h + matmul(w, h); };
const Step pre = [](const X& h, const X& w) { return h + matmul(w, rms_norm_floor(h)); };
const Step post = [](const X& h, const X& w) { return rms_norm_floor(h + matmul(w, h)); };

/// The Pre-LN recurrence with four features: a tape that can be read line by line.
X three_small_steps(Generator& rng) {
    const Tape tape;
    X h = tape.variable(rng.standard_normal({4}), "h0");
    for (const char* const name : {"W1", "W2", "W3"}) h = pre(h, tape.variable(rng.normal(0, 0.5, {4, 4}), name));
    return sqrt(mean(square(h))).named("rms");
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(5);
    Tape tape;
    const X h0 = tape.variable(rng.standard_normal({d}), "h0");
    const std::vector<X> stack = random_matrices(tape, rng, depth, d);
    report.tape(three_small_steps(rng));

    struct Recurrence {
        const char* name;
        Step step;
        double course; // RMS after the last step
    };
    Plot plot{"rms", "RMS of the state: one input, one stack of matrices", {"residual step"}, {"RMS(h)", true}, {}};
    for (const Recurrence& r :
        {Recurrence{"none", none, 412442.0942307884}, {"pre", pre, 6.423482855953835}, {"post", post, 1.0}}) {
        const auto scope = tape.scope(r.name);
        Series series{r.name, {}, {}, Mark::line_points};
        X h = h0, rms;
        for (std::size_t l = 0; l <= depth; ++l) {
            if (l > 0) h = r.step(h, stack[l - 1]);
            rms = sqrt(mean(square(h)));
            series.add(double(l), rms.item());
        }
        report.seeded_number(
            std::string("RMS after step 36, ") + r.name, rms.item(), r.course, relative(1e-9), "course §6");
        // Post ends at RMS 1 whatever it began with, so what its backward must show there is a slope of nothing.
        const X probe = r.step == post ? sum(h) : log(rms);
        const DirectionalSlope slope = directional_slope(probe, h0);
        report.number(std::string(r.step == post ? "slope of sum(h), " : "slope of log RMS, ") + r.name +
                          ": backward / differences",
            slope.backward / slope.difference, 1, absolute(1e-9), "differences in long double");
        plot.series.push_back(std::move(series));
    }
    report.plot(plot);
}

} // namespace chalkgrad::forward_scale_experiment
