// `chalkgrad parity`: reference vectors replayed, one verdict per case.
#pragma once

#include <filesystem>
#include <string>

namespace chalkgrad {

struct ParityOptions {
    std::filesystem::path manifest;
    std::string op; ///< only its cases; empty: all
    bool json = false;
};

/// Prints the verdicts, as text or as the JSON document of the contract. 0 when no case fails, else 1; unsupported
/// cases do not count. Throws Error for a manifest that is wrong.
int run_parity(const ParityOptions& options);

} // namespace chalkgrad
