// `chalkgrad graph`: a block as DOT, a picture, or JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalkgrad {

struct GraphCommand {
    std::string block;
    std::optional<std::filesystem::path> config; ///< or a model's config.json: one block of each kind it has
    std::vector<std::string> side_by_side;       ///< more blocks, in one figure with it
    std::string level = "module";                ///< module, op, composed
    std::optional<std::int64_t> depth;           ///< levels of scopes to open
    bool backward = false, values = false;
    std::string theme = "light";
    std::optional<std::string> format;           ///< dot, svg, pdf, png, json; absent: by the output's ending, else dot
    std::optional<std::filesystem::path> output; ///< absent: standard output
};

/// Draws and prints or writes it, whole or not at all; 0. Throws Error for a call that is wrong.
int run_graph(const GraphCommand& command);

} // namespace chalkgrad
