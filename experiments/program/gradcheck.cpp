// `chalkgrad gradcheck`: samples over both cores, verdicts in the catalogue's order.
#include <chalkgrad/experiments/program/gradcheck.hpp>

#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/gradcheck.hpp>
#include <chalkgrad/experiments/json.hpp>
#include <chalkgrad/experiments/program/terminal.hpp>
#include <chalkgrad/ops/catalog.hpp>

namespace chalkgrad {
namespace {

struct Task {
    const CatalogEntry* op;
    Sample sample;
    GradcheckReport report;
};

/// f(0), …, f(n − 1), each once, on as many threads as there are cores; the first exception comes out.
void in_parallel(std::size_t n, const std::function<void(std::size_t)>& f) {
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
        for (std::size_t i; (i = next++) < n;) try {
                f(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!failure) failure = std::current_exception();
                next = n;
            }
    };
    std::vector<std::jthread> threads;
    for (unsigned k = 1; k < std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), n); ++k) threads.emplace_back(work);
    work();
    threads.clear();
    if (failure) std::rethrow_exception(failure);
}

nlohmann::json to_json(const Task& task) {
    nlohmann::json json = nlohmann::json::parse(to_json(task.report));
    json["op"] = task.op->name;
    json["sample"] = task.sample.name;
    return json;
}

} // namespace

int run_gradcheck(const GradcheckCommand& command) {
    if (command.all == !command.ops.empty())
        throw Error("gradcheck: name the ops, or give --all; 'chalkgrad list ops' shows their names");
    if (command.tolerance && !(*command.tolerance > 0 && std::isfinite(*command.tolerance)))
        throw Error(fmt::format("gradcheck: the tolerance {} is not finite and positive", *command.tolerance));
    std::vector<Task> tasks;
    const auto add = [&](const CatalogEntry& op) {
        Generator rng{Seed(command.seed.value_or(0))};
        for (Sample& sample : op.samples(rng)) tasks.push_back({&op, std::move(sample), {}});
    };
    if (command.all)
        for (const CatalogEntry& op : catalog()) add(op);
    for (const std::string& name : command.ops) add(find_op(name));

    GradcheckOptions options;
    if (command.tolerance) options.tolerance = *command.tolerance;
    options.seed = command.seed.value_or(0);
    options.blind_spots = false; // rows of one element and the like are there for the kernels; other samples show the slopes
    Progress progress;
    std::atomic<std::size_t> done = 0;
    in_parallel(tasks.size(), [&](std::size_t i) {
        Task& task = tasks[i];
        Tape tape;
        std::vector<Var<double>> inputs;
        const Var<double> y = run_sample(*task.op, task.sample, tape, &inputs);
        y.named("y");
        GradcheckOptions mine = options;
        if (task.op->identities) mine.identities = task.op->identities(task.sample);
        task.report = gradcheck(std::vector<Var<double>>{y}, inputs, mine);
        progress.say(fmt::format("checked {} of {} samples", ++done, tasks.size()));
    });

    std::size_t failed = 0, inconclusive = 0;
    for (const Task& task : tasks) {
        failed += task.report.verdict == Verdict::fail;
        inconclusive += task.report.verdict == Verdict::inconclusive;
    }
    const std::size_t passed = tasks.size() - failed - inconclusive;
    if (command.json) {
        nlohmann::json ops = nlohmann::json::array();
        for (const Task& task : tasks) ops.push_back(to_json(task));
        fmt::print("{}", json_text({{"ops", ops}, {"passed", passed}, {"failed", failed}, {"inconclusive", inconclusive}}));
    } else {
        fmt::print("{:18} {:20} {:12} {:>11} {:>9} {:>9} {:>9} {:>9}\n", "op", "sample", "verdict", "differences", "dual", "transpose",
                   "identity", "H v");
        for (const Task& task : tasks) {
            const GradcheckReport& r = task.report;
            const Colour colour = r ? Colour::green : Colour::red;
            fmt::print("{:18} {:20} {} {:11.1e} {:9.1e} {:9.1e} {:>9} {:9.1e}\n", task.op->name, task.sample.name,
                       painted(fmt::format("{:12}", name(r.verdict)), colour, stdout), r.difference, r.dual, r.transpose,
                       r.identity ? fmt::format("{:.1e}", *r.identity) : "-", r.second_order);
            if (!r) fmt::print("{}", to_string(r));
        }
        fmt::print("{} passed, {} failed, {} inconclusive\n", passed, failed, inconclusive);
    }
    return failed + inconclusive == 0 ? 0 : 1;
}

} // namespace chalkgrad
