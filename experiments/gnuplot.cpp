// One run of gnuplot, over unnamed temporary files: they cannot fill up and block as pipes do.
#include <chalkgrad/autograd/error.hpp>
#include <chalkgrad/experiments/gnuplot.hpp>
#include <chalkgrad/experiments/picture.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace chalkgrad {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File temporary() {
    File file(std::tmpfile(), std::fclose);
    if (file == nullptr)
        throw Error(fmt::format("run_gnuplot: no temporary file ({}); free some space in the temporary folder",
                                std::generic_category().message(errno)));
    fcntl(fileno(file.get()), F_SETFD, FD_CLOEXEC);  // another thread's gnuplot has no business with it
    return file;
}

std::string content(std::FILE* file) {
    std::string bytes;
    char block[65536];
    std::rewind(file);
    while (const std::size_t n = std::fread(block, 1, sizeof block, file)) bytes.append(block, n);
    return bytes;
}

/// The environment without what would change the picture: the clock's zone and the language.
std::vector<char*> environment() {
    static char zone[] = "TZ=UTC", language[] = "LC_ALL=C.UTF-8";
    std::vector<char*> variables{zone, language};
    for (char** each = environ; *each != nullptr; ++each)
        if (std::strncmp(*each, "TZ=", 3) != 0 && std::strncmp(*each, "LC_ALL=", 7) != 0) variables.push_back(*each);
    variables.push_back(nullptr);
    return variables;
}

/// A picture cut short, by a full disk say, lacks its last mark.
bool is_whole(std::string_view picture, std::string_view format) {
    const std::string_view mark = format == "svg" ? "</svg>" : format == "pdf" ? "%%EOF" : "IEND";
    const std::size_t tail = std::min<std::size_t>(picture.size(), 32);
    return picture.substr(picture.size() - tail).find(mark) != std::string_view::npos;
}

std::string reason_of(const std::string& said) {
    return said.empty() ? "what it wrote is cut short; free some space in the temporary folder" : one_line(said);
}

}  // namespace

std::string run_gnuplot(std::string_view script, std::string_view format) {
    const File input = temporary(), output = temporary(), errors = temporary();
    if (std::fwrite(script.data(), 1, script.size(), input.get()) != script.size() || std::fflush(input.get()) != 0)
        throw Error("run_gnuplot: the script could not be written; free some space in the temporary folder");
    std::rewind(input.get());

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(input.get()), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(output.get()), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(errors.get()), STDERR_FILENO);
    char program[] = "gnuplot", no_startup_file[] = "-d";
    char* const arguments[] = {program, no_startup_file, nullptr};
    pid_t child = 0;
    const int failed = posix_spawnp(&child, program, &actions, nullptr, arguments, environment().data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        throw Error(
            fmt::format("plot: gnuplot cannot be started ({}); install Debian's gnuplot-nox (apt-get install "
                        "gnuplot-nox)",
                        std::generic_category().message(failed)));

    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    std::string picture = content(output.get());
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !is_whole(picture, format))
        throw Error(fmt::format("plot: gnuplot gave no whole {} picture: {}", format, reason_of(content(errors.get()))));
    return picture;
}

}  // namespace chalkgrad
