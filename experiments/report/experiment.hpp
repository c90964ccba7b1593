// An experiment: a question of the course or of a paper, and the run that answers it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/report/report.hpp>
#include <chalkgrad/experiments/report/seeds.hpp>
#include <nlohmann/json_fwd.hpp>

namespace chalkgrad {

struct ExperimentOptions {
    /// Absent: every experiment draws from the seed its expected numbers were made with.
    std::optional<uint128> seed;

    /// What gives the findings again, up to the experiment's name and a seed: "chalkgrad run".
    std::string command = {};

    uint128 seed_or(uint128 reference) const { return seed.value_or(reference); }
    Generator rng(uint128 reference) const { return Generator(Seed(seed_or(reference))); }
};

struct Experiment {
    std::string name;     ///< a word, also the head of its files' names
    std::string section;  ///< of the course, "6"
    std::string question; ///< one line
    std::function<void(Report&, const ExperimentOptions&)> run;
    std::string listing = {}; ///< its source, which the report shows; may be empty
};

/// Every experiment, in the order of the course. A new one adds one line to catalog.cpp.
const std::vector<Experiment>& experiments();

/// Those of `catalogue` named in `names`, in that order and each once. Throws Error for a name that is none, with those
/// close to it and the command that lists all.
std::vector<const Experiment*> experiments_named(const std::vector<Experiment>& catalogue,
    const std::vector<std::string>& names, std::string_view list = "chalkgrad list experiments");

/// Those of a course section; "6" takes in "6.2". Throws Error when there are none, with the sections that have some.
std::vector<const Experiment*> experiments_of_section(
    const std::vector<Experiment>& catalogue, std::string_view section);

struct Finished {
    Experiment experiment;
    Report report;
    double seconds = 0;                            ///< of the run, without drawing
    std::vector<std::filesystem::path> files = {}; ///< as written
    std::vector<Report::File> pictures = {};       ///< the SVG among them, where a page shows them
};

/// Where a run's files go. An empty path: nothing is drawn or written.
struct OutputFolder {
    std::filesystem::path path;
    bool with_index = false; ///< also index.html, the report over all of them
};

/// Runs the experiments one after the other and writes all their files at the end: all of them or none, replacing those
/// of an earlier run and leaving others alone. `on_start` hears of each experiment before it runs. With `seeds` each
/// runs once with every one of them, side by side, and Report::over makes one report. Throws what an
/// experiment throws, and Error when files cannot be written.
std::vector<Finished> run_experiments(const std::vector<const Experiment*>& chosen, const ExperimentOptions& options,
    const OutputFolder& folder, const std::function<void(const Experiment&)>& on_start = {},
    const std::optional<SeedRange>& seeds = {});

/// One experiment of your own: its files, and index.html over it, in `folder`. Throws as run_experiments does.
Finished run_experiment(
    const Experiment& experiment, const std::filesystem::path& folder, const ExperimentOptions& options = {});

/// How many of the experiments that check numbers hold, how many check none, and by name the numbers that do not hold.
std::string summary(const std::vector<Finished>& finished);

/// How a person or a program asks for a run.
struct RunRequest {
    std::optional<std::filesystem::path> out = {}; ///< absent: nothing is drawn or written
    std::optional<uint128> seed = {};
    std::optional<SeedRange> seeds = {}; ///< not together with `seed`
    bool json = false;                   ///< one document on standard output, in place of the text
    bool with_index = false;             ///< also index.html
    std::string command = {};            ///< as ExperimentOptions::command
};

/// Runs the experiments and says what they found on standard output, with progress on standard error where a person looks on.
/// Returns 0 when every number holds, else 1. Throws as run_experiments does.
int run_and_tell(const std::vector<const Experiment*>& chosen, const RunRequest& request);

/// The main function of a program with experiments of your own: `--seed N`, `--seeds A..B`, `--out DIR` (with index.html over them),
/// `--json` and `--help`, and names where there are several. Returns 0 when every number holds, 1 when one does not, and 2, with
/// one line on standard error, for a call that is wrong.
int experiment_main(int argc, char** argv, const std::vector<Experiment>& experiments);

/// {"experiments": [..]}, the document of `chalkgrad run --json`.
nlohmann::json to_json(const std::vector<Finished>& finished);

} // namespace chalkgrad
