// Finding and recording what `chalkgrad trace` and `chalkgrad present` show.
#include <chalkgrad/experiments/present/subject.hpp>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {
namespace {

/// Draws the cotangent; a single number is a loss, and its cotangent is 1.
TracedComputation subject(
    std::string name, std::string title, Var<double> y, std::vector<std::size_t> inputs, std::uint64_t seed) {
    Generator rng(Seed{seed, 1});
    Array<double> cotangent = rng.standard_normal(y.shape());
    if (y.size() == 1) cotangent.fill(1);
    return {std::move(name), std::move(title), std::move(y), std::move(inputs), std::move(cotangent)};
}

TracedComputation of_block(const nn::BlockEntry& block, std::uint64_t seed) {
    const nn::Recorded recorded = block.record(Tape(), seed);
    return subject(block.name, block.formula, recorded.output, recorded.input_lines(), seed);
}

TracedComputation of_op(const CatalogEntry& op, std::uint64_t seed) {
    const Tape tape;
    Generator rng{Seed(seed)};
    const std::vector<Sample> samples = op.samples(rng);
    return subject(op.name, op.formula, run_sample(op, samples.at(0), tape), {}, seed);
}

TracedComputation of_experiment(const std::string& command, const Experiment& experiment, std::uint64_t seed) {
    const Var<double> y = Report::tape_of(experiment.name, [&](Report& report) { experiment.run(report, {}); });
    if (!y)
        throw Error(
            fmt::format("{}: the experiment '{}' shows no tape of its own; take a block ('chalkgrad list blocks')",
                command, experiment.name));
    y.tape().zero_grad(); // of the experiment's own sweeps
    return subject(experiment.name, experiment.question, y, {}, seed);
}

} // namespace

TracedComputation find_subject(const std::string& command, const std::string& name, std::uint64_t seed) {
    std::vector<std::string> known;
    for (const nn::BlockEntry& block : nn::blocks()) {
        if (name == block.name) return of_block(block, seed);
        known.push_back(block.name);
    }
    for (const CatalogEntry& op : catalog()) {
        if (name == op.name) return of_op(op, seed);
        known.emplace_back(op.name);
    }
    for (const Experiment& experiment : experiments()) {
        if (name == experiment.name) return of_experiment(command, experiment, seed);
        known.push_back(experiment.name);
    }
    throw Error(fmt::format("{}: there is no block, op or experiment '{}'{}; 'chalkgrad list blocks' shows the blocks",
        command, name, did_you_mean(name, known)));
}

} // namespace chalkgrad
