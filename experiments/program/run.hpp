// `chalkgrad run`: experiments, their numbers and their files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/numpy/pcg64.hpp>

namespace chalkgrad {

/// The call as typed; run_experiments checks it.
struct RunOptions {
    std::vector<std::string> names;           ///< These, or
    std::optional<std::string> section;       ///< those of one section, or
    bool all = false;                         ///< every one, which also writes index.html into `out`.
    std::optional<std::filesystem::path> out; ///< The folder for tables, plots and graphs; absent: none are made.
    std::optional<uint128> seed;              ///< Instead of the seeds of the reference values.
    bool json = false;
};

/// Prints the findings, as text or as the JSON document of the contract. 0 when every number holds, 1 when one fails.
/// Throws Error for a call that is wrong.
int run_experiments(const RunOptions& options);

} // namespace chalkgrad
