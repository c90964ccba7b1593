// One run of gnuplot, over temporary files.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/gnuplot.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/process.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace chalkgrad {
namespace {

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

} // namespace

std::string run_gnuplot(std::string_view script, std::string_view format) {
    const File input = temporary_file("run_gnuplot"), output = temporary_file("run_gnuplot"),
               errors = temporary_file("run_gnuplot");
    if (std::fwrite(script.data(), 1, script.size(), input.get()) != script.size() || std::fflush(input.get()) != 0)
        throw Error("run_gnuplot: the script could not be written; free some space in the temporary folder");
    std::rewind(input.get());

    const Ended ended = run_program({"gnuplot", "-d"}, // without a start-up file
        {fileno(input.get()), fileno(output.get()), fileno(errors.get())}, environment().data());
    if (ended.failure != 0)
        throw Error(
            fmt::format("plot: gnuplot cannot be started ({}); install Debian's gnuplot-nox (apt-get install "
                        "gnuplot-nox)",
                std::generic_category().message(ended.failure)));

    std::string picture = content(output.get());
    if (!WIFEXITED(ended.status) || WEXITSTATUS(ended.status) != 0 || !is_whole(picture, format))
        throw Error(
            fmt::format("plot: gnuplot gave no whole {} picture: {}", format, reason_of(content(errors.get()))));
    return picture;
}

} // namespace chalkgrad
