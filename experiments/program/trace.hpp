// `chalkgrad trace`: a tape as a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace chalkgrad {

struct TraceOptions {
    std::string name; ///< a block, an op or an experiment
    std::optional<std::uint64_t> seed;
    bool json = false;
};

/// Records it, goes backward, and prints the tape line by line; 0. Throws Error for an unknown name.
int run_trace(const TraceOptions& options);

} // namespace chalkgrad
