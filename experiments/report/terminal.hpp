// How programs speak: colours and progress only where a person looks on.
#pragma once // internal

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace chalkgrad {

enum class Colour { none, red, green, dim };

/// `text` in the colour, when `stream` is a terminal that shows colours and the variable NO_COLOR is unset or empty.
std::string painted(std::string_view text, Colour colour, std::FILE* stream);

/// Throws Error when what was printed did not all arrive, as on a full disk.
void check_standard_output();

/// One line on standard error that says what is being done and for how long: only on a terminal, and only when the work
/// takes over two seconds. It is gone when the object is.
class Progress {
public:
    Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();

    void say(std::string what);

private:
    void show();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::string what_;
    bool done_ = false;
    std::thread thread_;
};

} // namespace chalkgrad
