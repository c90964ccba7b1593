// Compiling a user's C++ file against this chalkgrad.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace chalkgrad {

/// Compiles and links C++ files into `program`, against the build tree or the installed copy that this program belongs
/// to, with more flags for the compiler if given. That is $CXX, else c++; what it says goes to standard error as it is.
/// Throws Error naming the first file when it does not compile, and when headers or library are not where they should
/// be.
void compile_program(const std::vector<std::filesystem::path>& sources, const std::filesystem::path& program,
    const std::vector<std::string>& flags = {});

} // namespace chalkgrad
