// `chalkgrad gradcheck`: samples and blocks over all cores, verdicts in the catalogues' order.
#include <chalkgrad/experiments/program/commands.hpp>

#include <atomic>
#include <cmath>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/check/report_json.hpp>
#include <chalkgrad/experiments/report/parallel.hpp>
#include <chalkgrad/experiments/report/process.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {
namespace {

struct GradcheckCommand {
    Command c;
    Words ops = c.option(ops, "OP", "TEXT", "Names of ops and blocks ('chalkgrad list ops', 'chalkgrad list blocks')");
    bool all = c.flag(all, "--all", "Every op, block, FFN and stack");
    Word file = c.option(file, "--file", "FILE.cpp", "A C++ file with checks of its own");
    std::optional<std::uint64_t> seed = c.seed(seed, "Seed of the samples and of the random directions, 0");
    std::optional<double> tolerance =
        c.option(tolerance, "--tolerance", "X", "Largest relative error of a Jacobian block, 1e-9");
    bool json = c.json(json);
};

/// A program on a tape, with what is known of it.
struct Program {
    std::vector<Var<double>> outputs, inputs;
    std::vector<Identity> identities = {};
};

struct Task {
    std::string name, sample;
    std::function<Program(const Tape&)> record;
    GradcheckReport report = {};
};

void add_op(std::vector<Task>& tasks, const CatalogEntry& op, std::uint64_t seed) {
    Generator rng{Seed(seed)};
    for (Sample& sample : op.samples(rng)) {
        std::string name = sample.name;
        tasks.push_back({op.name, std::move(name), [&op, sample = std::move(sample)](const Tape& tape) {
                             Program program;
                             program.outputs = {run_sample(op, sample, tape, &program.inputs).named("y")};
                             if (op.identities) program.identities = op.identities(sample);
                             return program;
                         }});
    }
}

void add_block(std::vector<Task>& tasks, const nn::BlockEntry& block, std::uint64_t seed) {
    using Kind = nn::BlockEntry::Kind;
    tasks.push_back({block.name,
        block.kind == Kind::block ? "block"
        : block.kind == Kind::ffn ? "ffn"
                                  : "stack",
        [&block, seed](const Tape& tape) {
            const nn::Recorded recorded = block.record(tape, seed);
            return Program{{recorded.output}, recorded.variables(), block.identities(recorded)};
        }});
}

std::vector<Task> tasks_of(const GradcheckCommand& command) {
    const std::uint64_t seed = command.seed.value_or(0);
    std::vector<Task> tasks;
    if (command.all) {
        for (const CatalogEntry& op : catalog()) add_op(tasks, op, seed);
        for (const nn::BlockEntry& block : nn::blocks()) add_block(tasks, block, seed);
    }
    for (const std::string& name : command.ops) {
        Words known;
        const std::size_t before = tasks.size();
        for (const CatalogEntry& op : catalog()) {
            known.emplace_back(op.name);
            if (name == op.name) add_op(tasks, op, seed);
        }
        for (const nn::BlockEntry& block : nn::blocks()) {
            known.push_back(block.name);
            if (name == block.name) add_block(tasks, block, seed);
        }
        if (tasks.size() == before)
            throw Error(
                fmt::format("there is no op '{}'{}; 'chalkgrad list ops' and 'chalkgrad list blocks' show them all",
                    name, did_you_mean(name, known)));
    }
    return tasks;
}

/// All tasks in parallel; then, alone, the two instruction sets of the kernels, whose switch is the whole program's.
void check(std::vector<Task>& tasks, GradcheckOptions options) {
    options.blind_spots =
        false; // rows of one element and the like are there for the kernels; other samples show the slopes
    Progress progress;
    std::atomic<std::size_t> done = 0;
    parallel_for(tasks.size(), [&](std::size_t i) {
        const Tape tape;
        const Program program = tasks[i].record(tape);
        GradcheckOptions mine = options;
        mine.identities = program.identities;
        tasks[i].report = gradcheck(program.outputs, program.inputs, mine);
        progress.say(fmt::format("checked {} of {}", ++done, tasks.size()));
    });
    for (Task& task : tasks) {
        const Tape tape;
        const Program program = task.record(tape);
        const std::string differ = compare_instruction_sets(program.outputs, program.inputs, options.seed);
        if (differ.empty()) continue;
        task.report.verdict = Verdict::fail;
        task.report.why += (task.report.why.empty() ? "" : "; ") + differ;
    }
}

/// The report of a check, as the JSON document has it.
nlohmann::json report_of(const Task& task) {
    nlohmann::json report = detail::json_of(task.report);
    report.update({{"op", task.name}, {"sample", task.sample}});
    return report;
}

/// The program around a user's file: it runs the registered checks and leaves their reports in a file.
constexpr const char* around_checks = R"(#include <chalkgrad/autograd/check/testing.hpp>
#include <cstdlib>
#include <fstream>

int main(int, char** argument) {
    chalkgrad::GradcheckOptions options;
    options.seed = std::strtoull(argument[2], nullptr, 10);
    options.tolerance = std::strtod(argument[3], nullptr);
    std::ofstream out(argument[1]);
    out << chalkgrad::check_registered(options);
    return out.flush() ? 0 : 1;
}
)";

/// The reports of all checks that the file registers with CHALKGRAD_GRADCHECK. Throws Error if the file is missing, does
/// not compile (the compiler's words go to standard error), registers nothing, or a check throws.
nlohmann::json reports_of_file(const std::string& file, const GradcheckOptions& options) {
    nlohmann::json reports = answer_of("gradcheck", file, around_checks, [&](const Path& folder) {
        if (run_and_wait({folder / "check", folder / "answer.json", fmt::format("{}", options.seed),
                fmt::format("{}", options.tolerance)}) != 0)
            throw Error(fmt::format("gradcheck: the program made of {} left no reports", file));
    });
    if (reports.empty())
        throw Error(fmt::format(
            "gradcheck: {} registers no check; write CHALKGRAD_GRADCHECK(name, f, point, ...) at the end of it", file));
    for (nlohmann::json& report : reports) {
        if (report.contains("error"))
            throw Error(fmt::format("gradcheck: the check {} of {} ended with: {}", report["name"].get<std::string>(),
                file, report["error"].get<std::string>()));
        report.update({{"op", report["name"]}, {"sample", file}});
    }
    return reports;
}

void print_reports(const nlohmann::json& reports) {
    for (const nlohmann::json& report : reports) {
        const std::string verdict = report["verdict"], text = report["text"];
        const Colour colour = verdict == "pass" || verdict == "kink" ? Colour::green : Colour::red;
        fmt::print("{}: {}{}", report["name"].get<std::string>(), painted(verdict, colour, stdout),
            text.substr(verdict.size()));
    }
}

void print_table(const std::vector<Task>& tasks) {
    fmt::print("{:20} {:20} {:12} {:>11} {:>9} {:>9} {:>9} {:>9}\n", "op", "sample", "verdict", "differences", "dual",
        "transpose", "identity", "H v");
    for (const Task& task : tasks) {
        const GradcheckReport& r = task.report;
        fmt::print("{:20} {:20} {} {:11.1e} {:9.1e} {:9.1e} {:>9} {:9.1e}\n", task.name, task.sample,
            painted(fmt::format("{:12}", name(r.verdict)), r ? Colour::green : Colour::red, stdout), r.difference,
            r.dual, r.transpose, r.identity ? fmt::format("{:.1e}", *r.identity) : "-", r.second_order);
        if (!r) fmt::print("{}", to_string(r));
    }
}

int run_gradcheck(const GradcheckCommand& command) {
    if (command.all + !command.ops.empty() + command.file.has_value() != 1)
        throw Error("gradcheck: name the ops, or give --all, or --file; 'chalkgrad list ops' shows their names");
    if (command.tolerance && !(*command.tolerance > 0 && std::isfinite(*command.tolerance)))
        throw Error(fmt::format("gradcheck: the tolerance {} is not finite and positive", *command.tolerance));
    GradcheckOptions options;
    if (command.tolerance) options.tolerance = *command.tolerance;
    options.seed = command.seed.value_or(0);
    std::vector<Task> tasks;
    nlohmann::json reports;
    if (command.file) {
        reports = reports_of_file(*command.file, options);
        if (!command.json) print_reports(reports);
    } else {
        tasks = tasks_of(command);
        check(tasks, options);
        reports = mapped(tasks, report_of);
        if (!command.json) print_table(tasks);
    }

    const auto count = [&](const char* verdict) {
        return std::count_if(reports.begin(), reports.end(), [&](const auto& r) { return r["verdict"] == verdict; });
    };
    const auto failed = count("fail"), inconclusive = count("inconclusive"),
               passed = std::ptrdiff_t(reports.size()) - failed - inconclusive;
    if (command.json)
        fmt::print("{}", json_text({{"ops", std::move(reports)}, {"passed", passed}, {"failed", failed},
                             {"inconclusive", inconclusive}}));
    else fmt::print("{} passed, {} failed, {} inconclusive\n", passed, failed, inconclusive);
    return failed + inconclusive == 0 ? 0 : 1;
}

} // namespace

void add_gradcheck(Commands& commands) {
    commands.add("gradcheck",
        "Check hand-derived backwards against differences, dual numbers and the transpose identity", run_gradcheck,
        "  chalkgrad gradcheck rms_norm layer_norm pre\n"
        "  chalkgrad gradcheck --all --seed 3 --json\n"
        "  chalkgrad gradcheck --file my_op.cpp         compiles it and runs what it registers with "
        "CHALKGRAD_GRADCHECK\n"
        "Exit status: 0 when every sample passes, 1 when one fails or is inconclusive, 2 when the call is wrong.");
}

} // namespace chalkgrad
