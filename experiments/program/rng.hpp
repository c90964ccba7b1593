// `chalkgrad rng`: one draw from NumPy's default_rng stream, written as a .npy file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalkgrad {

/// The call as typed; run_rng checks it. Numbers stay text, because seeds and bounds may exceed every built-in type.
struct RngOptions {
    std::string seed;                      ///< Decimal, any size: default_rng(seed).
    std::vector<std::string> seed_words;   ///< Decimal numbers: default_rng([a, b, …]), instead of `seed`.
    std::string kind;                      ///< raw, random, uniform, standard_normal, normal or integers.
    std::vector<std::string> parameters;   ///< In NumPy's order: normal loc scale, uniform low high, integers low high.
    std::optional<std::string> loc, scale; ///< The same by name: normal, default 0 and 1.
    std::optional<std::string> low, high;  ///< The same by name: uniform, default 0 and 1; integers, low default 0.
    bool endpoint = false;                 ///< integers: `high` itself may be drawn.
    std::vector<std::string> shape;        ///< "3,5", or "3" and "5"; empty draws a single number, a 0-d file.
    std::string dtype;                     ///< Empty: double, or int64 for integers, uint64 for raw.
    std::filesystem::path out;             ///< The .npy file to write, whole or not at all.
};

/// Draws and writes `options.out`; 0. Throws Error for a call that is wrong.
int run_rng(const RngOptions& options);

} // namespace chalkgrad
