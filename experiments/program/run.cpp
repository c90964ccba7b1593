// `chalkgrad run`: experiments, their numbers and their files.
#include <chalkgrad/experiments/program/commands.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>

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
    Word seeds = c.option(seeds, "--seeds", "A..B", "Run with each of these seeds: means, deviations, bands");
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

int run_chosen(const RunOptions& options) {
    RunRequest request{options.out, options.seed, {}, options.json, options.all, "chalkgrad run"};
    if (options.seeds) request.seeds = SeedRange::parse(*options.seeds);
    return run_and_tell(chosen(options), request);
}

} // namespace

void add_run(Commands& commands) {
    commands.add("run", "Run experiments: their numbers and verdicts, tables, plots and graphs", run_chosen,
        "  chalkgrad run forward_scale                  the numbers, on the terminal\n"
        "  chalkgrad run forward_scale --out report     also CSV, JSON, SVG, PDF and PNG files in report/\n"
        "  chalkgrad run --section 6 --json             one JSON document\n"
        "  chalkgrad run variance_growth --seeds 0..7   means, deviations and figures with bands over eight seeds\n"
        "  chalkgrad run --all --out report             everything, with report/index.html\n"
        "  chalkgrad run my_experiment.cpp --seed 3     a C++ file of yours, with its arguments: compiled, kept, and "
        "run\n"
        "Exit status: 0 when every number holds, 1 when one fails, 2 when the call is wrong; of a file, that of its "
        "program.");
}

} // namespace chalkgrad
