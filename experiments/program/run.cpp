// `chalkgrad run`: experiments, their numbers and their files.
#include <chalkgrad/experiments/program/commands.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>

#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

namespace chalkgrad {
namespace {

struct RunOptions {
    Command c;
    Words names =
        c.option(names, "EXPERIMENT", "TEXT", "Names of experiments ('chalkgrad list experiments' shows them)");
    Word section = c.option(section, "--section", "N", "Those of one section of the course");
    bool all = c.flag(all, "--all", "Every experiment");
    std::optional<Path> out = c.option(out, "--out", "DIR", "Folder for the files; its other files are left alone");
    std::optional<uint128> seed =
        c.seed(seed, "Draw from this seed; numbers that depend on the reference seed are then not judged");
    bool json = c.json(json);
};

std::vector<const Experiment*> chosen(const RunOptions& options) {
    const int ways = (options.names.empty() ? 0 : 1) + (options.section ? 1 : 0) + (options.all ? 1 : 0);
    if (ways != 1)
        throw Error(fmt::format("run: {}; name experiments, or give --section N, or give --all",
            ways == 0 ? "nothing to run" : "the choice is not clear"));
    for (const std::string& name : options.names)
        if (is_cpp_file(name))
            throw Error(
                fmt::format("run: a file stands first, its own arguments behind it: chalkgrad run {} ...", name));
    if (!options.names.empty()) return experiments_named(experiments(), options.names);
    if (options.section) return experiments_of_section(experiments(), *options.section);
    std::vector<const Experiment*> all;
    for (const Experiment& experiment : experiments()) all.push_back(&experiment);
    return all;
}

void print(const Finished& finished) {
    const Report& report = finished.report;
    fmt::print("{} (§{}, {:.2g} s)\n  {}\n", report.experiment(), finished.experiment.section, finished.seconds,
        finished.experiment.question);
    std::size_t width = 0;
    for (const Report::Number& number : report.numbers()) width = std::max(width, number.name.size());
    for (const Report::Measured& each : report.measured()) width = std::max(width, each.name.size());
    width = std::min<std::size_t>(width, 50);
    for (const Report::Number& number : report.numbers())
        fmt::print("  {}  {:{}}  {:<17.10g} {}\n",
            number.holds ? painted("pass", Colour::green, stdout) : painted("FAIL", Colour::red, stdout), number.name,
            width, number.value, number.expectation());
    for (const Report::Measured& each : report.measured())
        fmt::print(
            "        {:{}}  {:<17.10g} {}\n", each.name, width, each.value, painted(each.claim, Colour::dim, stdout));
    for (const Report::NotReproduced& each : report.not_reproduced())
        fmt::print("        {} is not reproduced: {}\n", each.name, each.why);
}

int run_chosen(const RunOptions& options) {
    if (options.out && options.out->empty()) throw Error("run: --out names no folder; give one, such as --out report");
    const std::vector<const Experiment*> experiments = chosen(options);
    const OutputFolder folder{options.out.value_or(""), options.all};

    std::vector<Finished> finished;
    {
        Progress progress;
        std::size_t done = 0;
        const auto start = std::chrono::steady_clock::now();
        finished =
            run_experiments(experiments, ExperimentOptions{options.seed}, folder, [&](const Experiment& experiment) {
                const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
                const std::size_t left = experiments.size() - done;
                progress.say(fmt::format("{} of {}: {}{}", done + 1, experiments.size(), experiment.name,
                    done == 0 ? "" : fmt::format(", about {:.0f} s left", seconds * left / done)));
                ++done;
            });
    }
    const bool holds =
        std::all_of(finished.begin(), finished.end(), [](const Finished& each) { return each.report.holds(); });
    if (options.json) {
        fmt::print("{}", json_text(to_json(finished)));
        return holds ? 0 : 1;
    }
    std::size_t files = options.out && options.all ? 1 : 0;
    for (const Finished& each : finished) {
        print(each);
        files += each.files.size();
    }
    fmt::print("{}", painted(summary(finished), holds ? Colour::green : Colour::red, stdout));
    if (options.out) fmt::print("{} files are in {}\n", files, options.out->string());
    return holds ? 0 : 1;
}

} // namespace

void add_run(Commands& commands) {
    commands.add("run", "Run experiments: their numbers and verdicts, tables, plots and graphs", run_chosen,
        "  chalkgrad run forward_scale                  the numbers, on the terminal\n"
        "  chalkgrad run forward_scale --out report     also CSV, JSON, SVG, PDF and PNG files in report/\n"
        "  chalkgrad run --section 6 --json             one JSON document\n"
        "  chalkgrad run --all --out report             everything, with report/index.html\n"
        "  chalkgrad run my_experiment.cpp --seed 3     a C++ file of yours, with its arguments: compiled, kept, and "
        "run\n"
        "Exit status: 0 when every number holds, 1 when one fails, 2 when the call is wrong; of a file, that of its "
        "program.");
}

} // namespace chalkgrad
