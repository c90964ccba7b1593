// Children by posix_spawn: a copy of this process would copy locks that other threads hold.
#include <chalkgrad/experiments/report/process.hpp>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chalkgrad/autograd/base/error.hpp>

extern char** environ;

namespace chalkgrad {
namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const char* who) {
    const fs::path where = fs::temp_directory_path();
    std::string name = (where / "chalkgrad-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw Error(fmt::format("{}: no temporary folder can be made in {} ({}); free some space there", who,
            where.string(), std::generic_category().message(errno)));
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

File temporary_file(const char* who) {
    File file(std::tmpfile(), std::fclose);
    if (file == nullptr)
        throw Error(fmt::format("{}: no temporary file ({}); free some space in the temporary folder", who,
            std::generic_category().message(errno)));
    fcntl(fileno(file.get()), F_SETFD, FD_CLOEXEC); // another thread's child has no business with it
    return file;
}

std::string content(std::FILE* file) {
    std::string bytes;
    char block[65536];
    std::rewind(file);
    while (const std::size_t n = std::fread(block, 1, sizeof block, file)) bytes.append(block, n);
    return bytes;
}

Ended run_program(std::vector<std::string> command, const Streams& streams, char* const* environment) {
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const auto& [from, to] :
        {std::pair{streams.in, STDIN_FILENO}, {streams.out, STDOUT_FILENO}, {streams.error, STDERR_FILENO}})
        if (from != to) posix_spawn_file_actions_adddup2(&actions, from, to);
    pid_t child = 0;
    Ended ended;
    ended.failure = posix_spawnp(
        &child, arguments[0], &actions, nullptr, arguments.data(), environment != nullptr ? environment : environ);
    posix_spawn_file_actions_destroy(&actions);
    while (ended.failure == 0 && waitpid(child, &ended.status, 0) < 0)
        if (errno != EINTR) ended.failure = errno;
    return ended;
}

} // namespace chalkgrad
