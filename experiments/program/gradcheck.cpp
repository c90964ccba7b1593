// `chalkgrad gradcheck`: samples and blocks over all cores, verdicts in the catalogues' order.
#include <chalkgrad/experiments/program/gradcheck.hpp>

#include <atomic>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/autograd/check/report_json.hpp>
#include <chalkgrad/experiments/program/gradcheck_file.hpp>
#include <chalkgrad/experiments/program/terminal.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/parallel.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {
namespace {

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
        std::vector<std::string> known;
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

/// The same counts for reports and for JSON of them.
struct Counts {
    std::size_t passed = 0, failed = 0, inconclusive = 0;
    void add(std::string_view verdict) {
        ++(verdict == "fail" ? failed : verdict == "inconclusive" ? inconclusive : passed);
    }
    int status() const { return failed + inconclusive == 0 ? 0 : 1; }
    /// Prints the line at the end; returns the status.
    int print() const {
        fmt::print("{} passed, {} failed, {} inconclusive\n", passed, failed, inconclusive);
        return status();
    }
};

int print_json(nlohmann::json reports) {
    Counts counts;
    for (const nlohmann::json& report : reports) counts.add(report["verdict"].get<std::string>());
    fmt::print("{}", json_text({{"ops", std::move(reports)}, {"passed", counts.passed}, {"failed", counts.failed},
                         {"inconclusive", counts.inconclusive}}));
    return counts.status();
}

int check_users_file(const GradcheckCommand& command, const GradcheckOptions& options) {
    nlohmann::json reports = check_file(*command.file, options);
    for (nlohmann::json& report : reports) {
        report["op"] = report["name"];
        report["sample"] = *command.file;
    }
    if (command.json) return print_json(std::move(reports));
    Counts counts;
    for (const nlohmann::json& report : reports) {
        const std::string verdict = report["verdict"];
        counts.add(verdict);
        const Colour colour = verdict == "pass" || verdict == "kink" ? Colour::green : Colour::red;
        fmt::print("{}: {}", report["name"].get<std::string>(), painted(verdict, colour, stdout));
        fmt::print("{}", report["text"].get<std::string>().substr(verdict.size()));
    }
    return counts.print();
}

int print_table(const std::vector<Task>& tasks) {
    Counts counts;
    fmt::print("{:20} {:20} {:12} {:>11} {:>9} {:>9} {:>9} {:>9}\n", "op", "sample", "verdict", "differences", "dual",
        "transpose", "identity", "H v");
    for (const Task& task : tasks) {
        const GradcheckReport& r = task.report;
        counts.add(name(r.verdict));
        fmt::print("{:20} {:20} {} {:11.1e} {:9.1e} {:9.1e} {:>9} {:9.1e}\n", task.name, task.sample,
            painted(fmt::format("{:12}", name(r.verdict)), r ? Colour::green : Colour::red, stdout), r.difference,
            r.dual, r.transpose, r.identity ? fmt::format("{:.1e}", *r.identity) : "-", r.second_order);
        if (!r) fmt::print("{}", to_string(r));
    }
    return counts.print();
}

} // namespace

int run_gradcheck(const GradcheckCommand& command) {
    if (command.all + !command.ops.empty() + command.file.has_value() != 1)
        throw Error("gradcheck: name the ops, or give --all, or --file; 'chalkgrad list ops' shows their names");
    if (command.tolerance && !(*command.tolerance > 0 && std::isfinite(*command.tolerance)))
        throw Error(fmt::format("gradcheck: the tolerance {} is not finite and positive", *command.tolerance));
    GradcheckOptions options;
    if (command.tolerance) options.tolerance = *command.tolerance;
    options.seed = command.seed.value_or(0);
    if (command.file) return check_users_file(command, options);

    std::vector<Task> tasks = tasks_of(command);
    check(tasks, options);
    if (!command.json) return print_table(tasks);
    nlohmann::json reports = nlohmann::json::array();
    for (const Task& task : tasks) {
        nlohmann::json report = detail::json_of(task.report);
        report["op"] = task.name;
        report["sample"] = task.sample;
        reports.push_back(std::move(report));
    }
    return print_json(std::move(reports));
}

} // namespace chalkgrad
