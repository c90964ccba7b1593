// Independent pieces of an experiment on all cores: the seeds of a mean, the cases of a sweep.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <chalkgrad/autograd/numpy/pcg64.hpp>

namespace chalkgrad {

/// Calls body(0) … body(count − 1), each once, on `threads` threads (0: one for each core this process may use). A body
/// has its own tapes and generators and writes only what belongs to its index; then the results do not depend on the
/// number of threads. All bodies run; of their exceptions the one of the lowest index is thrown on.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body, std::size_t threads = 0);

/// The mean, element by element, of what(first), what(first + 1), … for `count` seeds, lists of one length: computed
/// side by side, added up in the order of the seeds.
std::vector<double> mean_over_seeds(
    uint128 first, std::size_t count, const std::function<std::vector<double>(uint128 seed)>& what);

} // namespace chalkgrad
