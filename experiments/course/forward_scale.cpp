// Course §6: one input and one stack of 36 random matrices in three recurrences. Where the norm sits decides the scale.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::forward_scale_experiment {

constexpr std::size_t depth = 36, d = 256;

/// h₀ and then, step after step, what the recurrence makes of it.
using Step = X (*)(const X& h, const X& w);
X none(const X& h, const X& w) { return h + matmul(w, h); }
X pre(const X& h, const X& w) { return h + matmul(w, rms_norm_floor(h)); }
X post(const X& h, const X& w) { return rms_norm_floor(h + matmul(w, h)); }

/// The Pre-LN recurrence with four features: a tape that can be read line by line.
X three_small_steps(Generator& rng) {
    const Tape tape;
    X h = tape.variable(rng.standard_normal({4}), "h0");
    for (const char* const name : {"W1", "W2", "W3"}) h = pre(h, tape.variable(rng.normal(0, 0.5, {4, 4}), name));
    return sqrt(mean(square(h))).named("rms");
}

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(5);
    Tape tape;
    const X h0 = tape.variable(rng.standard_normal({d}), "h0");
    const std::vector<X> stack = random_matrices(tape, rng, depth, d);
    report.tape(three_small_steps(rng));

    Plot& plot =
        report.plot({"rms", "RMS of the state: one input, one stack of matrices", {"residual step"}, {"RMS(h)", true}});
    for (const auto& [name, step, course] : Rows<std::string, Step, double>{
             {"none", none, 412442.0942307884}, {"pre", pre, 6.423482855953835}, {"post", post, 1.0}}) {
        const auto scope = tape.scope(name);
        X h = h0, rms = sqrt(mean(square(h)));
        plot.at(name).add(0, rms.item());
        for (std::size_t l = 1; l <= depth; ++l) {
            h = step(h, stack[l - 1]);
            rms = sqrt(mean(square(h)));
            plot.at(name).add(double(l), rms.item());
        }
        report.seeded_number("RMS after step 36, " + name, rms.item(), course, relative(1e-9), "course §6");
        // Post ends at RMS 1 whatever it began with, so what its backward must show there is a slope of nothing.
        // Nor is there one along h0 itself, which a direction of the same seed would be.
        const auto other_seed = static_cast<std::uint64_t>(options.seed_or(5) + 1);
        const DirectionalSlope slope = directional_slope(step == post ? sum(h) : log(rms), h0, other_seed);
        report.number(fmt::format("slope of {}, {}: backward / differences", step == post ? "sum(h)" : "log RMS", name),
            slope.backward / slope.difference, 1, absolute(1e-9), "differences in long double");
    }
}

} // namespace chalkgrad::forward_scale_experiment
