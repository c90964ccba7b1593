// Children by posix_spawn: a copy of this process would copy locks that other threads hold.
#include <chalkgrad/experiments/report/process.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chalkgrad/autograd/base/error.hpp>

extern char** environ;

namespace chalkgrad {
namespace fs = std::filesystem;

namespace {

/// An unnamed file that is gone when it is closed; unlike a pipe it cannot fill up and block. Children see it only as one
/// of their streams.
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File temporary_file(std::string_view text = {}) {
    File file(std::tmpfile(), std::fclose);
    if (file == nullptr || fcntl(fileno(file.get()), F_SETFD, FD_CLOEXEC) != 0 ||
        (!text.empty() && std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) ||
        std::fflush(file.get()) != 0)
        throw Error(
            fmt::format("no temporary file ({}); free some space in the temporary folder", std::strerror(errno)));
    std::rewind(file.get());
    return file;
}

std::string content(std::FILE* file) {
    std::string bytes;
    char block[65536];
    std::rewind(file);
    while (const std::size_t n = std::fread(block, 1, sizeof block, file)) bytes.append(block, n);
    return bytes;
}

Ended run(std::vector<std::string> command, const std::array<int, 3>& streams, char* const* environment) {
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; ++i)
        if (streams[i] != i) posix_spawn_file_actions_adddup2(&actions, streams[i], i);
    pid_t child = 0;
    int status = 0, failure = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environment);
    posix_spawn_file_actions_destroy(&actions);
    while (failure == 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR) failure = errno;
    Ended ended;
    if (failure != 0) ended.failure = std::strerror(failure);
    else ended.status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    return ended;
}

} // namespace

TemporaryFolder::TemporaryFolder(const char* who) {
    const fs::path where = fs::temp_directory_path();
    std::string name = (where / "chalkgrad-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw Error(fmt::format("{}: no temporary folder can be made in {} ({}); free some space there", who,
            where.string(), std::strerror(errno)));
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

Ended run_program(const std::vector<std::string>& command, std::string_view input) {
    const File in = temporary_file(input), out = temporary_file(), err = temporary_file();
    static char zone[] = "TZ=UTC", language[] = "LC_ALL=C.UTF-8";
    std::vector<char*> environment{zone, language};
    for (char** each = environ; *each != nullptr; ++each)
        if (std::strncmp(*each, "TZ=", 3) != 0 && std::strncmp(*each, "LC_ALL=", 7) != 0) environment.push_back(*each);
    environment.push_back(nullptr);
    Ended ended = run(command, {fileno(in.get()), fileno(out.get()), fileno(err.get())}, environment.data());
    ended.out = content(out.get());
    ended.err = content(err.get());
    return ended;
}

int run_and_wait(const std::vector<std::string>& command) {
    const Ended ended = run(command, {STDIN_FILENO, STDERR_FILENO, STDERR_FILENO}, environ);
    if (!ended.failure.empty()) throw Error(fmt::format("{} cannot be started: {}", command[0], ended.failure));
    if (ended.status < 0)
        throw Error(fmt::format(
            "{} ended by a signal: {}", fs::path(command[0]).filename().string(), strsignal(-ended.status)));
    return ended.status;
}

} // namespace chalkgrad
