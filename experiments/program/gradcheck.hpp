// `chalkgrad gradcheck`: samples of ops, and blocks, checked with all oracles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chalkgrad {

struct GradcheckCommand {
    std::vector<std::string> ops;    ///< names of the catalogues of ops and of blocks, or
    bool all = false;                ///< every one, or
    std::optional<std::string> file; ///< a C++ file that registers checks of its own
    std::optional<std::uint64_t> seed;
    std::optional<double> tolerance; ///< relative; absent: 1e-9
    bool json = false;
};

/// Prints the verdicts, as text or as the JSON document of the contract. 0 when nothing failed, 1 when a sample fails or is
/// inconclusive. Throws Error for a call that is wrong.
int run_gradcheck(const GradcheckCommand& command);

} // namespace chalkgrad
