// Calls the chalkgrad program as a person does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chalkgrad/autograd/file.hpp>

namespace chalkgrad::testing {

struct Ended {
    int status;  ///< of exit
    std::string out, err;
};

/// The program of this build with these words.
inline Ended call(const std::vector<std::string>& words) {
    const std::string base =
        (std::filesystem::temp_directory_path() / fmt::format("chalkgrad-words-{}", ::getpid())).string();
    std::string command = fmt::format("'{}'", CHALKGRAD_PROGRAM);
    for (const std::string& word : words) command += fmt::format(" '{}'", word);
    const int status = std::system(fmt::format("{} >'{}.out' 2>'{}.err' </dev/null", command, base, base).c_str());
    Ended ended{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(base + ".out"), read_file(base + ".err")};
    std::filesystem::remove(base + ".out");
    std::filesystem::remove(base + ".err");
    return ended;
}

/// A folder of its own that is gone afterwards.
struct Folder {
    std::filesystem::path path;
    explicit Folder(const char* name)
        : path(std::filesystem::temp_directory_path() / fmt::format("chalkgrad-{}-{}", name, ::getpid())) {
        std::filesystem::remove_all(path);
        std::filesystem::create_directories(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string operator/(const std::string& name) const { return (path / name).string(); }
};

}  // namespace chalkgrad::testing
