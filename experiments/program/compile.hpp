// Compiling a user's C++ file against this chalkgrad, and running it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace chalkgrad {

/// Runs a program (found like a shell would) and waits; returns its exit status. Its standard output goes to our
/// standard error, where messages belong. Throws Error if it cannot be started or ends by a signal.
int run_and_wait(const std::vector<std::string>& command);

/// Compiles and links C++ files into `program`, against the build tree or the installed copy that this program belongs
/// to, with more flags for the compiler if given. That is $CXX, else c++; what it says goes to standard error as it is.
/// Throws Error naming the first file when it does not compile, and when headers or library are not where they should
/// be.
void compile_program(const std::vector<std::filesystem::path>& sources, const std::filesystem::path& program,
    const std::vector<std::string>& flags = {});

} // namespace chalkgrad
