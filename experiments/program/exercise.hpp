// `chalkgrad exercise`: lists and shows the exercises, and checks a student's file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace chalkgrad {

struct ExerciseCommand {
    std::string action; ///< "list", "show" or "check"
    std::string name;
    std::string file;
    std::optional<std::size_t> hint;
    bool starter = false;
    std::string output; ///< where --starter goes; standard output without it
    bool json = false;
};

/// Prints what was asked for. Returns 0, and 1 where a checked file is wrong. Throws Error for a call that fits no
/// action, for an unknown name, and where the file cannot be checked: it does not compile, crashes, or does not end.
int run_exercise(const ExerciseCommand& command);

} // namespace chalkgrad
