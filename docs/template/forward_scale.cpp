#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/experiments.hpp>
using namespace chalkgrad;

void run(Report& report, const ExperimentOptions& options) {
    Generator rng{Seed(options.seed_or(5))};
    Tape tape;
    const auto h0 = tape.constant(rng.standard_normal({256}));
    const auto stack = tape.constant(rng.normal(0, 1. / 16, {36, 256, 256}));
    const auto follow = [&](const char* name, double course, auto step) {
        Series curve{name};
        auto h = h0;
        for (int l = 0; l < 36; ++l) {
            h = step(h, slice(stack, {l}));
            curve.add(l + 1, sqrt(mean(square(h))).item());
        }
        report.seeded_number(name, curve.y.back(), course, Tolerance::relative(1e-4), "course §6");
        return curve;
    };
    report.plot({"rms", "RMS of the state, by the place of the norm", {"residual step"}, {"RMS(h)", true},
        {follow("none", 412442, [](auto h, auto w) { return h + matmul(w, h); }),
            follow("pre", 6.423, [](auto h, auto w) { return h + matmul(w, rms_norm_floor(h)); }),
            follow("post", 1, [](auto h, auto w) { return rms_norm_floor(h + matmul(w, h)); })}});
}
int main(int argc, char** argv) {
    return experiment_main(argc, argv, {{"forward_scale", "6", "How does scale grow with depth?", run}});
}
