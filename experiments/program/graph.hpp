// `chalkgrad graph`: a block as DOT, a picture, or JSON.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace chalkgrad {

struct GraphCommand {
    std::string block;
    std::optional<std::string> format;            ///< dot, svg, pdf, png, json; absent: by the output's ending, else dot
    std::optional<std::filesystem::path> output;  ///< absent: standard output
};

/// Draws and prints or writes it, whole or not at all; 0. Throws Error for a call that is wrong.
int run_graph(const GraphCommand& command);

} // namespace chalkgrad
