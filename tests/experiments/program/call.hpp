// Calls the chalkgrad program as a person does.
#pragma once

#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/report/process.hpp>

#include "../../support.hpp"

extern char** environ;

namespace chalkgrad::testing {

using Words = std::vector<std::string>;

/// Starts the program of this build with these words; what it prints goes to the files `out` and `err`.
inline pid_t start(const Words& words, const std::string& out, const std::string& err) {
    std::vector<std::string> owned{CHALKGRAD_PROGRAM};
    owned.insert(owned.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : owned) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = -1;
    BOOST_REQUIRE(posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

inline int wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// The program of this build with these words.
inline Ended call(Words words) {
    words.insert(words.begin(), CHALKGRAD_PROGRAM);
    return run_program(words);
}

/// Status 2, nothing on standard output, one line on standard error that holds `part`.
inline void check_refused(const Words& words, const std::string& part) {
    const Ended ended = call(words);
    BOOST_TEST_CONTEXT(fmt::format("chalkgrad {}: {}", fmt::join(words, " "), ended.err)) {
        BOOST_TEST(ended.status == 2);
        BOOST_TEST(ended.out.empty());
        BOOST_TEST(count(ended.err, "\n") == 1);
        BOOST_TEST(ended.err.ends_with("\n"));
        BOOST_TEST(ended.err.starts_with("chalkgrad: "));
        BOOST_TEST(contains(ended.err, part));
    }
}

} // namespace chalkgrad::testing
