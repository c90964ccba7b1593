// How long gradcheck takes, for compare_torch.py: the same programs with differences in double alone, and with all
// oracles.
#include <algorithm>
#include <ctime>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/nn/layers/block.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

using namespace chalkgrad;

namespace {

struct Program {
    std::vector<Var<double>> outputs, inputs;
};

Program norm(const Tape& tape) {
    Generator rng(1);
    const auto x = tape.variable(rng.standard_normal({16, 64}), "x"),
               gamma = tape.variable(rng.standard_normal({64}), "gamma");
    return {{rms_norm(x, gamma, 1e-5)}, {x, gamma}};
}

Program sinkhorn(const Tape& tape) {
    Generator rng(1);
    const auto m = tape.variable(rng.standard_normal({4, 4}), "m");
    return {{sinkhorn_log(m)}, {m}};
}

Program block(const Tape& tape) {
    const nn::Block block(nn::BlockOptions{.d = 16, .attention = {.heads = 4}, .ffn = {.width = 48}});
    Generator rng(1);
    nn::initialize_for_check(block, rng);
    nn::Binding<double> on(tape);
    const auto x = tape.variable(rng.standard_normal({8, 16}), "x");
    Program program{{block(on, x)}, {x}};
    for (const auto& bound : on.bound()) program.inputs.push_back(bound.line);
    return program;
}

/// The least processor time of a run, in seconds, of at least three runs and a second; recording included, as torch runs its
/// function too.
double seconds(const std::function<Program(const Tape&)>& record, const GradcheckOptions& options) {
    double least = HUGE_VAL, all = 0;
    for (int run = 0; run < 3 || all < 1; ++run) {
        const std::clock_t start = std::clock();
        const Tape tape;
        const Program program = record(tape);
        const GradcheckReport report = gradcheck(program.outputs, program.inputs, options);
        const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        least = std::min(least, took);
        all += took;
        if (report.verdict == Verdict::fail) throw Error(to_string(report));
    }
    return least;
}

} // namespace

// Arguments: beginnings of the names of the programs wanted; all without any.
int main(int argc, char** argv) {
    GradcheckOptions quick, all;
    quick.quick = true;
    quick.tolerance = 1e-6; // still a thousand times tighter than torch's
    quick.blind_spots = all.blind_spots = false;
    const char* separator = "{";
    const std::pair<const char*, Program (*)(const Tape&)> programs[] = {
        {"rms_norm 16x64", norm}, {"sinkhorn 4x4", sinkhorn}, {"pre block T=8 d=16", block}};
    for (const auto& [name, record] : programs) {
        const std::string_view program = name;
        if (argc > 1 &&
            std::none_of(argv + 1, argv + argc, [&](const char* begin) { return program.starts_with(begin); }))
            continue;
        fmt::print("{}\"{}\": {{\"differences\": {:.6g}, \"all\": {:.6g}}}", separator, name, seconds(record, quick),
            seconds(record, all));
        separator = ", ";
    }
    fmt::print("}}\n");
}
