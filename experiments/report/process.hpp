// Other programs as our children, and folders for what they read and write.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace chalkgrad {

/// A folder of its own that is gone with the object. Throws Error, which begins with `who`, when none can be made.
class TemporaryFolder {
public:
    explicit TemporaryFolder(const char* who);
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

struct Ended {
    std::string failure;  ///< why the program could not be started; the rest then says nothing
    int status = 0;       ///< its exit status, or minus the signal that ended it
    std::string out, err; ///< what it wrote
};

/// Runs a program, found as a shell finds it, with `input` to read, and waits. Its clock is UTC and its language that of
/// program texts. Throws Error when there is no space for temporary files.
Ended run_program(const std::vector<std::string>& command, std::string_view input = {});

/// Runs a program in our own surroundings and waits; returns its exit status. Its standard output goes to our standard
/// error, where messages belong. Throws Error if it cannot be started or ends by a signal.
int run_and_wait(const std::vector<std::string>& command);

} // namespace chalkgrad
