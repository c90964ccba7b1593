// `chalkgrad eval`: one op on .npy files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalkgrad {

/// The call as typed; run_eval checks it.
struct EvalOptions {
    std::string op;
    std::vector<std::string> inputs;      ///< NAME=FILE
    std::vector<std::string> constants;   ///< NAME=FILE
    std::vector<std::string> attributes;  ///< KEY=VALUE, the value JSON or else a word
    std::optional<std::string> cotangent; ///< FILE, or NAME=FILE with the output's name
    std::string dtype = "double";
    bool strict = false;
    std::vector<std::string> compared; ///< NAME=FILE or NAME.grad=FILE
    std::filesystem::path out;
};

/// Writes the output, and with a cotangent the gradient of every input, all or none; prints where, and how the
/// comparisons went. 0, or 1 when a comparison fails. Throws Error for a call that is wrong; nothing is then written.
int run_eval(const EvalOptions& options);

} // namespace chalkgrad
