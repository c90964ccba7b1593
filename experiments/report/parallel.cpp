// A loop over several threads: each takes the next index until none is left.
#include <chalkgrad/experiments/report/parallel.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace chalkgrad {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body, std::size_t threads) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::exception_ptr> errors(count);
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < count; i = next++) {
            try {
                body(i);
            } catch (...) { errors[i] = std::current_exception(); }
        }
    };
    {
        std::vector<std::jthread> others; // the calling thread works too
        for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(work);
        work();
    }
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

std::vector<double> mean_over_seeds(
    uint128 first, std::size_t count, const std::function<std::vector<double>(uint128 seed)>& what) {
    std::vector<std::vector<double>> of_seed(count);
    parallel_for(count, [&](std::size_t i) { of_seed[i] = what(first + i); });
    std::vector<double> mean(of_seed.empty() ? 0 : of_seed[0].size());
    for (const std::vector<double>& each : of_seed)
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += each.at(i) / double(count);
    return mean;
}

} // namespace chalkgrad
