// Other programs as our children, with temporary files and folders for what they read and write.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
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

/// An unnamed file that is gone when it is closed; unlike a pipe it cannot fill up and block. Children see it only as one of
/// their streams. Throws as TemporaryFolder does.
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
File temporary_file(const char* who);
/// All bytes of a file, from its beginning.
std::string content(std::FILE* file);

/// What a child has for standard input, output and error; by default what we have.
struct Streams {
    int in = 0, out = 1, error = 2;
};

struct Ended {
    int failure = 0; ///< errno, if the program could not be started; then the status says nothing
    int status = 0;  ///< as waitpid gives it
};

/// Runs a program, found as a shell finds it, and waits. `environment` ends with a null pointer; none: ours.
Ended run_program(std::vector<std::string> command, const Streams& streams = {}, char* const* environment = nullptr);

} // namespace chalkgrad
