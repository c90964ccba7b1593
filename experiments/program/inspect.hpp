// `chalkgrad inspect`: what a model's config.json says, with the ledger of its parameters; allocates no weight.
#pragma once

#include <filesystem>

namespace chalkgrad {

struct InspectCommand {
    std::filesystem::path config;
    bool json = false;
    bool explain = false; ///< the four steps of course §20, in words
};

/// Prints facts and ledger as a table, as the JSON document of the contract, or explained. Throws Error for a file that
/// is no config, or one that cannot be read without guessing.
int run_inspect(const InspectCommand& command);

} // namespace chalkgrad
