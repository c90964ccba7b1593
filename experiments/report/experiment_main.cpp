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

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace chalkgrad {
namespace {

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
    std::string seed, seeds, out;
    RunRequest request{.with_index = true, .command = program};
    app.add_option("EXPERIMENT", names, "Names of experiments; all if none is given");
    app.add_option("--seed", seed, "Draw from this seed")->type_name("N");
    app.add_option("--seeds", seeds, "Run with each of these seeds: means, deviations, bands")->type_name("A..B");
    const CLI::Option* const has_out =
        app.add_option("--out", out, "Folder for tables, figures and index.html")->type_name("DIR");
    app.add_flag("--json", request.json, "One JSON document on standard output");
    app.set_version_flag("--version", "made with chalkgrad " CHALKGRAD_VERSION);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) { return app.exit(asked); } catch (const CLI::ParseError& wrong) {
        throw Error(fmt::format("{}; see --help", wrong.what()));
    }
    if (!seed.empty()) try {
            request.seed = SeedRange::parse(seed + ".." + seed).first;
        } catch (const Error&) {
            throw Error(fmt::format("--seed: '{}' is no whole number from 0 to 2^128 - 1", seed));
        }
    if (!seeds.empty()) request.seeds = SeedRange::parse(seeds);
    if (has_out->count() > 0) request.out = out;
    std::vector<const Experiment*> chosen = experiments_named(experiments, names);
    if (names.empty())
        for (const Experiment& each : experiments) chosen.push_back(&each);
    return run_and_tell(chosen, request);
} catch (const std::exception& error) {
    fmt::print(stderr, "{} {}\n", painted("experiment:", Colour::red, stderr), one_line(error.what()));
    return 2;
}

} // namespace chalkgrad
