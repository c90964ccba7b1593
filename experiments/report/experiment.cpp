// Choosing and running experiments.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/page.hpp>
#include <chalkgrad/experiments/report/parallel.hpp>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace chalkgrad {

std::vector<const Experiment*> experiments_named(
    const std::vector<Experiment>& catalogue, const std::vector<std::string>& names, std::string_view list) {
    std::vector<const Experiment*> chosen;
    for (const std::string& name : names) {
        const Experiment& found = find_named(catalogue, name, "run: there is no experiment", list);
        if (std::find(chosen.begin(), chosen.end(), &found) == chosen.end()) chosen.push_back(&found);
    }
    return chosen;
}

std::vector<const Experiment*> experiments_of_section(
    const std::vector<Experiment>& catalogue, std::string_view section) {
    std::vector<const Experiment*> chosen;
    std::vector<std::string> known;
    for (const Experiment& experiment : catalogue) {
        const std::string& own = experiment.section;
        if (own == section || (!section.empty() && own.starts_with(fmt::format("{}.", section))))
            chosen.push_back(&experiment);
        if (std::find(known.begin(), known.end(), own) == known.end()) known.push_back(own);
    }
    if (chosen.empty())
        throw Error(fmt::format(
            "run: no experiment belongs to section '{}'; those with some are {}", section, fmt::join(known, ", ")));
    return chosen;
}

namespace {

std::string command_of(const Experiment& experiment, const ExperimentOptions& options, const std::string& seeds) {
    return options.command.empty() ? "" : fmt::format("{} {}{}", options.command, experiment.name, seeds);
}

Report report_of(
    const Experiment& experiment, const ExperimentOptions& options, const std::optional<SeedRange>& seeds) {
    const auto with = [&](const ExperimentOptions& own) {
        Report report(experiment.name, own.seed.has_value());
        report.made_with(own.seed, command_of(experiment, own, own.seed ? " --seed " + decimal(*own.seed) : ""));
        experiment.run(report, own);
        return report;
    };
    if (!seeds) return with(options);
    std::vector<std::optional<Report>> of_seed(seeds->size());
    parallel_for(of_seed.size(), [&](std::size_t i) { of_seed[i] = with({seeds->first + i, options.command}); });
    Report all = Report::over(mapped(of_seed, [](auto& report) { return std::move(*report); }));
    all.made_with({},
        command_of(experiment, options, fmt::format(" --seeds {}..{}", decimal(seeds->first), decimal(seeds->last))));
    return all;
}

} // namespace

std::vector<Finished> run_experiments(const std::vector<const Experiment*>& chosen, const ExperimentOptions& options,
    const OutputFolder& folder, const std::function<void(const Experiment&)>& on_start,
    const std::optional<SeedRange>& seeds) {
    using clock = std::chrono::steady_clock;
    const bool writes = !folder.path.empty();
    if (writes) check_output_folder("run", folder.path);
    const auto katex = writes && folder.with_index ? read_katex(katex_folder()) : std::nullopt;
    std::vector<Finished> finished;
    FileSet files;
    for (const Experiment* const experiment : chosen) {
        if (on_start) on_start(*experiment);
        const clock::time_point start = clock::now();
        Finished& result = finished.emplace_back(Finished{*experiment, report_of(*experiment, options, seeds)});
        result.seconds = std::chrono::duration<double>(clock::now() - start).count();
        if (!writes) continue;
        for (Report::File& file : result.report.files()) {
            result.files.push_back(folder.path / file.name);
            if (folder.with_index && file.name.ends_with(".svg")) result.pictures.push_back(file);
            files.add(result.files.back(), std::move(file.bytes));
        }
    }
    if (writes && folder.with_index) files.add(folder.path / "index.html", report_page(finished, katex));
    files.publish();
    return finished;
}

Finished run_experiment(
    const Experiment& experiment, const std::filesystem::path& folder, const ExperimentOptions& options) {
    return std::move(run_experiments({&experiment}, options, {folder, true}).front());
}

std::string summary(const std::vector<Finished>& finished) {
    std::size_t holding = 0, checking = 0, numbers = 0;
    std::string failed;
    for (const Finished& each : finished) {
        const bool checks = !each.report.numbers().empty();
        checking += checks;
        holding += checks && each.report.holds();
        numbers += each.report.numbers().size();
        for (const Report::Number& number : each.report.numbers())
            if (!number.holds) failed += fmt::format("  {}: {}\n", each.experiment.name, number.name);
    }
    if (checking == 0) return "No number was checked.\n";
    const std::size_t others = finished.size() - checking;
    return fmt::format("{} of {} experiments hold ({} numbers checked).{}\n{}{}", holding, checking, numbers,
        others == 0 ? "" : fmt::format(" {} more check{} no number.", others, others == 1 ? "s" : ""),
        failed.empty() ? "" : "These numbers failed:\n", failed);
}

nlohmann::json to_json(const std::vector<Finished>& finished) {
    const auto one = [](const Finished& each) {
        nlohmann::json json = each.report.to_json();
        json["section"] = each.experiment.section;
        json["question"] = each.experiment.question;
        json["seconds"] = each.seconds;
        json["files"] = mapped(each.files, [](const std::filesystem::path& file) { return file.string(); });
        return json;
    };
    return {{"experiments", mapped(finished, one)}};
}

} // namespace chalkgrad
