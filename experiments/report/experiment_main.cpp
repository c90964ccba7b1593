// What `chalkgrad run` does, and the programs of users' own experiments.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/terminal.hpp>
#include <chalkgrad/version.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace chalkgrad {
namespace {

void print(const Finished& finished) {
    const Report& report = finished.report;
    const std::string& section = finished.experiment.section;
    fmt::print("{} ({}{:.2g} s)\n  {}\n", report.experiment(), section.empty() ? "" : fmt::format("§{}, ", section),
        finished.seconds, finished.experiment.question);
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

} // namespace

int run_and_tell(const std::vector<const Experiment*>& chosen, const RunRequest& request) {
    if (request.out && request.out->empty()) throw Error("run: --out names no folder; give one, such as --out report");
    if (request.seed && request.seeds) throw Error("run: --seed and --seeds are both given; give one of them");
    const OutputFolder folder{request.out.value_or(""), request.with_index};
    std::vector<Finished> finished;
    {
        Progress progress;
        std::size_t done = 0;
        const auto start = std::chrono::steady_clock::now();
        const auto say = [&](const Experiment& experiment) {
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            progress.say(fmt::format("{} of {}: {}{}", done + 1, chosen.size(), experiment.name,
                done == 0
                    ? ""
                    : fmt::format(", about {:.0f} s left", seconds * double(chosen.size() - done) / double(done))));
            ++done;
        };
        finished = run_experiments(chosen, {request.seed, request.command}, folder, say, request.seeds);
    }
    const bool holds = std::ranges::all_of(finished, [](const Finished& each) { return each.report.holds(); });
    if (request.json) {
        fmt::print("{}", json_text(to_json(finished)));
        return holds ? 0 : 1;
    }
    std::size_t files = request.out && request.with_index ? 1 : 0, numbers = 0;
    for (const Finished& each : finished) {
        print(each);
        files += each.files.size();
        numbers += each.report.numbers().size();
    }
    fmt::print("{}", painted(summary(finished),
                         !holds        ? Colour::red
                         : numbers > 0 ? Colour::green
                                       : Colour::none,
                         stdout));
    if (request.out) fmt::print("{} files are in {}\n", files, request.out->string());
    return holds ? 0 : 1;
}

int experiment_main(int argc, char** argv, const std::vector<Experiment>& experiments) try {
    const std::string program = std::filesystem::path(argc > 0 ? argv[0] : "experiment").filename().string();
    CLI::App app(experiments.size() == 1 ? experiments[0].question : "Experiments with chalkgrad", program);
    std::vector<std::string> names;
    RunRequest request{.with_index = true, // `chalkgrad run` starts what it made of a file by the file's name
        .command = program.ends_with(".cpp") ? "chalkgrad run " + program : program};
    app.add_option("EXPERIMENT", names,
        fmt::format("All if none is named: {}",
            fmt::join(mapped(experiments, [](const Experiment& each) { return each.name; }), ", ")));
    const auto option = [&](const char* name, const char* value, const char* purpose, auto take) {
        app.add_option_function<std::string>(name, take, purpose)->type_name(value);
    };
    option("--seed", "N", "Draw from this seed", [&](const std::string& text) { request.seed = parse_seed(text); });
    option("--seeds", "A..B", "Run with each of these seeds: means, deviations, bands",
        [&](const std::string& text) { request.seeds = SeedRange::parse(text); });
    option("--out", "DIR", "Folder for tables, figures and index.html",
        [&](const std::string& text) { request.out = text; });
    app.add_flag("--json", request.json, "One JSON document on standard output");
    app.set_version_flag("--version", "made with chalkgrad " CHALKGRAD_VERSION);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) { return app.exit(asked); } catch (const CLI::ParseError& wrong) {
        throw Error(fmt::format("{}; see --help", wrong.what()));
    }
    std::vector<const Experiment*> chosen = experiments_named(experiments, names, program + " --help");
    if (names.empty())
        for (const Experiment& each : experiments) chosen.push_back(&each);
    const int status = run_and_tell(chosen, request);
    check_standard_output();
    return status;
} catch (const std::exception& error) {
    const std::string program =
        fmt::format("{}:", std::filesystem::path(argc > 0 ? argv[0] : "experiment").filename().string());
    fmt::print(stderr, "{} {}\n", painted(program, Colour::red, stderr), one_line(error.what()));
    return 2;
}

} // namespace chalkgrad
