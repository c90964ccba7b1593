// `chalkgrad parity`: reference vectors replayed, one verdict per case.
#include <chalkgrad/experiments/program/commands.hpp>

#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/reference/parity.hpp>

namespace chalkgrad {
namespace {

struct ParityOptions {
    Command c;
    Path manifest = c.option(manifest, "MANIFEST", "MANIFEST.json", "A manifest of format golden-1", Given::always);
    std::string op = c.option(op, "--op", "OP", "Only the cases of this op");
    bool json = c.json(json);
};

nlohmann::json number(const std::optional<double>& value) { return value ? json_number(*value) : nlohmann::json(); }
std::string text(const std::optional<double>& value) { return value ? fmt::format("{:.1e}", *value) : "-"; }

int run_parity(const ParityOptions& options) {
    const ParityReport report = replay(options.manifest, options.op);
    using Verdict = ParityCase::Verdict;
    const std::size_t passed = report.count(Verdict::pass), failed = report.count(Verdict::fail),
                      unsupported = report.count(Verdict::unsupported);
    if (options.json) {
        const auto object = [](const ParityCase& c) {
            return nlohmann::json{{"id", c.id}, {"op", c.op}, {"verdict", name(c.verdict)},
                {"worst_forward", number(c.worst_forward)}, {"worst_grad", number(c.worst_grad)}, {"why", c.why}};
        };
        fmt::print("{}", json_text({{"cases", mapped(report.cases, object)}, {"passed", passed}, {"failed", failed},
                             {"unsupported", unsupported}}));
    } else {
        fmt::print("{:40} {:12} {:>9} {:>9}\n", "case", "verdict", "forward", "gradient");
        for (const ParityCase& c : report.cases) {
            const Colour colour = c.verdict == Verdict::pass   ? Colour::green
                                  : c.verdict == Verdict::fail ? Colour::red
                                                               : Colour::dim;
            fmt::print("{:40} {} {:>9} {:>9}\n", c.id, painted(fmt::format("{:12}", name(c.verdict)), colour, stdout),
                text(c.worst_forward), text(c.worst_grad));
            if (!c.why.empty()) fmt::print("    {}\n", c.why);
        }
        fmt::print("{} passed, {} failed, {} unsupported\n", passed, failed, unsupported);
    }
    return failed == 0 ? 0 : 1;
}

} // namespace

void add_parity(Commands& commands) {
    commands.add("parity", "Replay reference vectors: outputs and gradients of every case", run_parity,
        "  chalkgrad parity golden/manifest.json\n"
        "  chalkgrad parity golden/manifest.json --op rms_norm --json\n"
        "Exit status: 0 when no case fails, 1 when one does, 2 when the manifest or a file is wrong.");
}

} // namespace chalkgrad
