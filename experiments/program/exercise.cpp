// The exercises on the terminal; a student's file becomes a program of its own, which answers within limits.
#include <chalkgrad/experiments/program/commands.hpp>

#include <csignal>
#include <cstring>

#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/exercises/exercises.hpp>
#include <chalkgrad/experiments/report/html.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/process.hpp>

namespace chalkgrad {
namespace {

struct ExerciseCommand {
    Command c;
    std::string action = c.option(action, "ACTION", "TEXT", "list, show or check", Given::always);
    std::string name = c.option(name, "NAME", "TEXT", "An exercise ('chalkgrad exercise list' shows them)");
    std::string file = c.option(file, "FILE", "FILE.cpp", "check: your C++ file");
    std::optional<std::size_t> hint = c.option(hint, "--hint", "N", "show: only this hint, from 1");
    bool starter = c.flag(starter, "--starter", "show: only the file to start from");
    std::string output = c.option(output, "-o,--output", "FILE.cpp", "show --starter: write it there");
    bool json = c.flag(json, "--json", "list, check: one JSON document on standard output");
};

// The limits stand before the initialisers of the student's file: 20 seconds, 8 GB, and 16 MB for a file or for what is
// printed.
constexpr const char* around_exercise = R"(#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace chalkgrad::exercise {
std::string answer_all(const std::string& exercise, const std::string& request);
}

__attribute__((constructor(101))) static void set_limits() {
    dup2(STDOUT_FILENO, STDERR_FILENO); // what is printed is one text
    const auto limit = [](decltype(RLIMIT_CORE) what, rlim_t most) {
        const rlimit both{most, most};
        setrlimit(what, &both);
    };
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 16 << 20);
    std::signal(SIGXFSZ, SIG_DFL); // the program that starts this one ignores it
    limit(RLIMIT_AS, rlim_t(8) << 30);
    alarm(20);
}

int main(int, char** argument) {
    std::stringstream request;
    request << std::ifstream(argument[2]).rdbuf();
    const std::string answer = chalkgrad::exercise::answer_all(argument[1], request.str());
    std::ofstream out(argument[3]);
    out << answer;
    return out.flush() ? 0 : 1;
}
)";

/// The first lines of what a student's program printed, on standard error.
void show_printed(const std::string& printed) {
    if (printed.empty()) return;
    fmt::print(stderr, "Your file prints:\n");
    std::size_t at = 0;
    for (int line = 0; line < 10 && at < printed.size(); ++line) {
        const std::size_t end = std::min(printed.find('\n', at), printed.size());
        fmt::print(
            stderr, "  {}\n", one_line(std::string_view(printed).substr(at, std::min<std::size_t>(end - at, 200))));
        at = end + 1;
    }
    if (at < printed.size()) fmt::print(stderr, "  … and {} bytes more\n", printed.size() - at);
}

/// Runs the student's program. Throws Error where it ends in any other way than it should.
void run_limited(const Words& command, const std::string& file) {
    const Ended ended = run_program(command);
    show_printed(ended.out);
    if (!ended.failure.empty())
        throw Error(fmt::format("exercise: the program made of {} cannot be started: {}", file, ended.failure));
    if (ended.status == -SIGALRM)
        throw Error(fmt::format("exercise: {} did not end within 20 seconds; look for a loop that never stops", file));
    if (ended.status == -SIGXFSZ)
        throw Error(
            fmt::format("exercise: {} prints or writes more than 16 MB; take the output out of the loop", file));
    if (ended.status < 0)
        throw Error(fmt::format(
            "exercise: {} crashed ({}); look for an index beyond the end of an array", file, strsignal(-ended.status)));
}

/// What the program of a student's file answers. Throws Error where the file is not for this exercise.
nlohmann::json checked_answer(const Exercise& exercise, const std::string& file) {
    const auto run = [&](const Path& folder) {
        write_file(folder / "request.json", exercise_request(exercise));
        run_limited({folder / "check", exercise.name, folder / "request.json", folder / "answer.json"}, file);
    };
    const nlohmann::json answer = answer_of("exercise", file, around_exercise, run,
        {"-DXTENSOR_ENABLE_ASSERT"}); // an index beyond an array is then an exception
    if (answer.is_null())
        throw Error(
            fmt::format("exercise: {} left the program before its answer; take out calls such as exit()", file));
    if (answer.contains("points")) return answer;
    const nlohmann::json& registered = answer["solutions"];
    if (registered.empty())
        throw Error(fmt::format(
            "exercise: {} names no solution; its last line must be CHALKGRAD_EXERCISE({}, forward, backward);", file,
            exercise.name));
    const std::string other = registered[0]["exercise"];
    if (other != exercise.name)
        throw Error(fmt::format("exercise: {} solves '{}', not '{}'; check it with 'chalkgrad exercise check {} {}'",
            file, other, exercise.name, other, file));
    throw Error(fmt::format(
        "exercise: the functions of {} take {} inputs, and {} has {}: {}; keep the signatures of the starter", file,
        registered[0]["inputs"].get<std::size_t>(), exercise.name, exercise.inputs.size(),
        fmt::join(exercise.inputs, ", ")));
}

int check(const ExerciseCommand& command) {
    const Exercise& exercise = find_exercise(command.name);
    Grade result = grade(exercise, checked_answer(exercise, command.file));
    // Right numbers are right numbers; but an op of the library in the place of a derivation should not go unnoticed.
    bool uses_tape = false;
    scan_code(read_file(command.file),
        [&](std::string_view piece, char kind) { uses_tape = uses_tape || (kind == 'w' && piece == "Tape"); });
    if (uses_tape)
        result.notes.emplace_back(
            "Your file uses a Tape: that lets chalkgrad differentiate. The exercise is to write the gradient by hand.");
    if (command.json) fmt::print("{}", json_text(to_json(result)));
    else fmt::print("{}", to_text(result));
    return result.right ? 0 : 1;
}

int list(const ExerciseCommand& command) {
    if (command.json) return run_list("exercises", true);
    for (const Exercise& e : exercises()) fmt::print("{:14} {:16} {}\n", e.name, e.section, e.purpose);
    fmt::print("\nBegin with: chalkgrad exercise show {}\n", exercises().front().name);
    return 0;
}

int show(const ExerciseCommand& command) {
    const Exercise& e = find_exercise(command.name);
    if (command.hint) {
        if (*command.hint < 1 || *command.hint > e.hints.size())
            throw Error(fmt::format("exercise: {} has hints 1 to {}, not {}", e.name, e.hints.size(), *command.hint));
        fmt::print("{}\n", e.hints[*command.hint - 1]);
        return 0;
    }
    if (command.starter) {
        if (std::filesystem::exists(command.output))
            throw Error(fmt::format(
                "exercise: {} is there already, and may be your work; give another name to -o", command.output));
        if (command.output.empty()) {
            fmt::print("{}", e.starter());
            return 0;
        }
        write_file(command.output, e.starter());
        fmt::print("{0} is yours to fill in. Then: chalkgrad exercise check {1} {0}\n", command.output, e.name);
        return 0;
    }
    std::string points;
    Generator rng{Seed(0)};
    for (const Sample& sample : e.points(rng)) points += (points.empty() ? "" : ", ") + sample.name;
    fmt::print("{} ({}): {}\n\n{}\n\nChecked at: {}.\n\n", e.name, e.section, e.purpose, e.task, points);
    fmt::print(
        "chalkgrad exercise show {0} --starter -o {0}.cpp   the file to fill in: the forward, and an empty backward\n"
        "chalkgrad exercise show {0} --hint 1   the first of {1} hints; each says more, the last one nearly all\n"
        "chalkgrad exercise check {0} {0}.cpp   what is right, what is wrong, and why\n",
        e.name, e.hints.size());
    return 0;
}

int run_exercise(const ExerciseCommand& command) {
    const bool listing = command.action == "list", showing = command.action == "show",
               checking = command.action == "check";
    if (!listing && !showing && !checking)
        throw Error(fmt::format("exercise: '{}' is none of list, show and check{}", command.action,
            did_you_mean(command.action, {"list", "show", "check"})));
    if (listing != command.name.empty())
        throw Error(listing ? "exercise: list takes no name; 'chalkgrad exercise show NAME' shows one exercise"
                            : fmt::format("exercise: name an exercise to {}; 'chalkgrad exercise list' shows them all",
                                  command.action));
    if (checking != !command.file.empty())
        throw Error(
            checking
                ? fmt::format("exercise: name the file to check: chalkgrad exercise check {} FILE.cpp", command.name)
                : fmt::format("exercise: {} takes no file; 'chalkgrad exercise check NAME FILE.cpp' checks one",
                      command.action));
    if (!showing && (command.hint || command.starter || !command.output.empty()))
        throw Error("exercise: --hint, --starter and -o go with show");
    if (showing && (command.json || (command.hint && command.starter) || (!command.output.empty() && !command.starter)))
        throw Error(command.json ? "exercise: --json goes with list and check"
                                 : "exercise: give --hint N, or --starter, the latter with -o FILE.cpp if you like");
    return listing ? list(command) : showing ? show(command) : check(command);
}

} // namespace

void add_exercise(Commands& commands) {
    commands.add("exercise", "Exercises: derive a backward, write it, and have it checked", run_exercise,
        "  chalkgrad exercise list\n"
        "  chalkgrad exercise show rms_norm                                  the task\n"
        "  chalkgrad exercise show rms_norm --starter -o rms_norm.cpp        the file to fill in\n"
        "  chalkgrad exercise show rms_norm --hint 1\n"
        "  chalkgrad exercise check rms_norm rms_norm.cpp                    compiles it and checks values and "
        "gradients\n"
        "Exit status of check: 0 right, 1 wrong, 2 when the file could not be checked.");
}

} // namespace chalkgrad
