// `chalkgrad present`: a page that steps through a tape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace chalkgrad {

struct PresentOptions {
    std::string name; ///< a block, an op or an experiment
    std::optional<std::uint64_t> seed;
    std::optional<std::filesystem::path> output; ///< the page
    std::optional<std::filesystem::path> frames; ///< one page of PDF for every step
};

/// Writes the page, the PDF, or both, whole or not at all; 0. Without KaTeX it says so and shows TeX. Throws Error for
/// an unknown name, when no file is asked for, and when a PDF is and there is no Chromium.
int run_present(const PresentOptions& options);

} // namespace chalkgrad
