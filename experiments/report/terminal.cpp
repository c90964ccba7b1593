// Colours, and one line of progress by a thread of its own.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/terminal.hpp>

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

namespace chalkgrad {

std::string painted(std::string_view text, Colour colour, std::FILE* stream) {
    const char* const no_colour = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    const bool plain = isatty(fileno(stream)) == 0 || (no_colour != nullptr && *no_colour != '\0') ||
                       terminal == nullptr || std::string_view(terminal) == "dumb";
    if (plain || colour == Colour::none) return std::string(text);
    const int code = colour == Colour::red ? 31 : colour == Colour::green ? 32 : 2;
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void check_standard_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw Error("standard output cannot be written; is the disk full?");
}

Progress::Progress() {
    if (isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
    {
        const std::scoped_lock lock(mutex_);
        done_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Progress::say(std::string what) {
    const std::scoped_lock lock(mutex_);
    what_ = std::move(what);
}

void Progress::show() {
    using namespace std::chrono;
    const steady_clock::time_point start = steady_clock::now();
    std::unique_lock lock(mutex_);
    bool shown = false;
    for (auto pause = milliseconds(2000); !changed_.wait_for(lock, pause, [this] { return done_; });
         pause = milliseconds(500)) {
        const auto seconds = duration_cast<std::chrono::seconds>(steady_clock::now() - start).count();
        fmt::print(stderr, "\r\x1b[K{} ({} s)", what_, seconds);
        std::fflush(stderr);
        shown = true;
    }
    if (shown) fmt::print(stderr, "\r\x1b[K");
}

} // namespace chalkgrad
