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
#include <nlohmann/json_fwd.hpp>

namespace chalkgrad {

struct ExperimentOptions {
    /// Absent: every experiment draws from the seed its expected numbers were made with.
    std::optional<uint128> seed;

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
/// close to it.
std::vector<const Experiment*> experiments_named(
    const std::vector<Experiment>& catalogue, const std::vector<std::string>& names);

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
/// of an earlier run and leaving others alone. `on_start` hears of each experiment before it runs. Throws what an
/// experiment throws, and Error when files cannot be written.
std::vector<Finished> run_experiments(const std::vector<const Experiment*>& chosen, const ExperimentOptions& options,
    const OutputFolder& folder, const std::function<void(const Experiment&)>& on_start = {});

/// One experiment of your own: its files, and index.html over it, in `folder`. Throws as run_experiments does.
Finished run_experiment(
    const Experiment& experiment, const std::filesystem::path& folder, const ExperimentOptions& options = {});

/// How many experiments hold, and by name the numbers that do not.
std::string summary(const std::vector<Finished>& finished);

/// {"experiments": [..]}, the document of `chalkgrad run --json`.
nlohmann::json to_json(const std::vector<Finished>& finished);

} // namespace chalkgrad
