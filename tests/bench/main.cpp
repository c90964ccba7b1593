// chalkgrad-bench: chalkgrad, libtorch and the machine's limit side by side, forward and backward, double, one thread.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>

#include <chalkgrad/autograd/kernel/isa.hpp>

#include "problem.hpp"

namespace bench {
namespace {

constexpr const char* usage =
    "Usage: chalkgrad-bench [--json] [--benchmark_filter=REGEX] [--benchmark_repetitions=N] "
    "[--benchmark_min_time=SECONDS]\n"
    "Times chalkgrad, libtorch (where it was found) and the machine's limit, forward and backward, double, one "
    "thread.\n"
    "Before, it asserts that values and gradients of chalkgrad and libtorch agree. CHALKGRAD_ISA=base leaves AVX2 "
    "out;\n"
    "libtorch uses AVX2 unless ATEN_CPU_CAPABILITY says otherwise.\n";

/// Least and median over the repetitions, in µs.
struct Times {
    double least, median;
};

/// Keeps the times of each contender by name instead of printing them.
class Collector final : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.error_occurred) throw std::runtime_error(run.benchmark_name() + ": " + run.error_message);
            if (run.run_type == Run::RT_Iteration)
                seen_[run.run_name.function_name].push_back(run.GetAdjustedCPUTime());
        }
    }
    std::optional<Times> of(const std::string& name) const {
        const auto found = seen_.find(name);
        if (found == seen_.end()) return std::nullopt;
        std::vector<double> times = found->second;
        std::sort(times.begin(), times.end());
        return Times{times.front(), times[times.size() / 2]};
    }

private:
    std::map<std::string, std::vector<double>> seen_;
};

/// Throws where the two differ by more than rounding explains, relative to the largest number of an array.
void require_agreement(const Problem& problem, Contender& mine, Contender& peer) {
    constexpr double tolerance = 1e-11;
    const auto a = mine.results(), b = peer.results();
    for (std::size_t k = 0; k < std::max(a.size(), b.size()); ++k) {
        const std::string what =
            problem.op + " " + problem.shape + ": " + (k == 0 ? "values" : fmt::format("gradients of input {}", k));
        if (k >= std::min(a.size(), b.size()) || a[k].size() != b[k].size())
            throw std::runtime_error(what + " differ in size");
        double difference = 0, scale = 1e-300;
        for (std::size_t i = 0; i < a[k].size(); ++i) {
            const double d = std::abs(a[k][i] - b[k][i]);
            if (d > difference || std::isnan(d)) difference = d; // a NaN stays: nothing is larger
            scale = std::max(scale, std::abs(b[k][i]));
        }
        if (!(difference <= tolerance * scale))
            throw std::runtime_error(
                fmt::format("{} of chalkgrad and libtorch differ by {:.2g} of their largest; "
                            "nothing is timed that is not the same",
                    what, difference / scale));
    }
}

struct Workload {
    Problem problem;
    std::unique_ptr<Contender> mine, peer, least;

    explicit Workload(Problem p)
        : problem(std::move(p)), mine(ours(problem)), peer(torch(problem)), least(limit(problem)) {}
    std::string label(const char* contender) const { return problem.op + " " + problem.shape + " " + contender; }
};

void enlist(const std::string& name, Contender* contender) {
    if (contender == nullptr) return;
    benchmark::RegisterBenchmark(name.c_str(),
        [contender](benchmark::State& state) {
            for (auto _ : state) contender->round();
        })
        ->Unit(benchmark::kMicrosecond)
        ->MeasureProcessCPUTime();
}

std::optional<double> ratio(const std::optional<Times>& a, const std::optional<Times>& b) {
    if (!a || !b || b->least == 0) return std::nullopt;
    return a->least / b->least;
}

std::string text(const std::optional<double>& x, int digits = 2) {
    return x ? fmt::format("{:.{}f}", *x, digits) : "-";
}
std::string text(const std::optional<Times>& t) {
    return t ? fmt::format("{:.2f} ({:.2f})", t->least, t->median) : "-";
}
nlohmann::ordered_json json(const std::optional<double>& x) { return x ? nlohmann::ordered_json(*x) : nullptr; }
nlohmann::ordered_json json(const std::optional<Times>& t) { return t ? nlohmann::ordered_json(t->least) : nullptr; }

int run(int argc, char** argv) {
    // These come first, so that the command line can set them otherwise.
    char interleaved[] = "--benchmark_enable_random_interleaving=true", seven[] = "--benchmark_repetitions=7",
         briefly[] = "--benchmark_min_time=0.02";
    std::vector<char*> arguments{argv[0], interleaved, seven, briefly};
    bool as_json = false;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--json") == 0) {
            as_json = true;
        } else if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) {
            std::fputs(usage, stdout);
            return 0;
        } else {
            arguments.push_back(argv[i]);
        }
    }
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (count > 1) {
        fmt::print(stderr, "chalkgrad-bench: unknown argument '{}'\n{}", arguments[1], usage);
        return 2;
    }

    std::vector<Workload> workloads;
    for (Problem& problem : problems()) workloads.emplace_back(std::move(problem));
    for (Workload& w : workloads) {
        if (w.peer) require_agreement(w.problem, *w.mine, *w.peer);
        enlist(w.label("ours"), w.mine.get());
        enlist(w.label("torch"), w.peer.get());
        enlist(w.label("limit"), w.least.get());
    }
    Collector times;
    benchmark::RunSpecifiedBenchmarks(&times);
    const TapeCost tape = tape_cost(100'000, 30);

    auto rows = nlohmann::ordered_json::array();
    if (!as_json) {
        fmt::print("Forward and backward, double, one thread, {}; libtorch {}. CPU time in µs: least (median).\n\n",
            chalkgrad::name(chalkgrad::isa()), torch_version());
        fmt::print(
            "{:<24}{:>24}{:>24}{:>24}{:>12}{:>12}\n", "workload", "ours", "torch", "limit", "torch/ours", "ours/limit");
    }
    for (const Workload& w : workloads) {
        const auto mine = times.of(w.label("ours")), peer = times.of(w.label("torch")),
                   least = times.of(w.label("limit"));
        if (!mine && !peer && !least) continue; // left out by the filter
        if (as_json)
            rows.push_back({{"name", w.problem.op}, {"dtype", "float64"}, {"shape", w.problem.shape},
                {"ours_us", json(mine)}, {"torch_us", json(peer)}, {"limit_us", json(least)},
                {"torch_over_ours", json(ratio(peer, mine))}, {"ours_over_limit", json(ratio(mine, least))}});
        else
            fmt::print("{:<24}{:>24}{:>24}{:>24}{:>12}{:>12}\n", w.problem.op + " " + w.problem.shape, text(mine),
                text(peer), text(least), text(ratio(peer, mine)), text(ratio(mine, least)));
    }
    if (as_json) {
        nlohmann::ordered_json all;
        all["workloads"] = std::move(rows);
        all["tape"] = {{"ns_per_node", tape.ns_per_node}, {"bytes_per_node", tape.bytes_per_node},
            {"fresh_buffers", tape.fresh_buffers}};
        fmt::print("{}\n", all.dump(2));
    } else {
        fmt::print("\ntape: {:.1f} ns and {:.0f} bytes for each scalar node, {} fresh buffers in the steady loop\n",
            tape.ns_per_node, tape.bytes_per_node, tape.fresh_buffers);
    }
    return 0;
}

} // namespace
} // namespace bench

int main(int argc, char** argv) {
    try {
        return bench::run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "chalkgrad-bench: {}\n", error.what());
        return 1;
    }
}
