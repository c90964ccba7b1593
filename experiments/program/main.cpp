// The chalkgrad program: reads the command line, calls one function per command, and turns errors into one line and 2.
#include <chalkgrad/experiments/program/commands.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/version.hpp>

#include <algorithm>
#include <csignal>
#include <new>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

using namespace chalkgrad;

namespace {

// ---- the way out

volatile std::sig_atomic_t interrupted = 0;

/// Ends the program, but not between the first byte of a file and its rename: then after the command.
extern "C" void on_signal(int signal) {
    if (files_in_flight()) {
        interrupted = signal;
        return;
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

/// One line on standard error; 2.
int refuse(std::string_view message) {
    fmt::print(stderr, "{} {}\n", painted("chalkgrad:", Colour::red, stderr), one_line(message));
    return 2;
}

/// A word in the place of a command that is none: CLI11 would call it an unexpected argument.
void check_command(const CLI::App& app, int argc, char** argv) {
    Words names;
    for (const CLI::App* const command : app.get_subcommands({})) names.push_back(command->get_name());
    if (argc < 2)
        throw Error(fmt::format("give a command: {}; 'chalkgrad --help' says what they do", fmt::join(names, ", ")));
    const std::string word = argv[1];
    for (const char* const option : {"-h", "--help", "--version"}) names.emplace_back(option);
    if (std::find(names.begin(), names.end(), word) != names.end()) return;
    throw Error(
        fmt::format("there is no command '{}'{}; 'chalkgrad --help' shows them all", word, did_you_mean(word, names)));
}

int run(int argc, char** argv) {
    CLI::App app(
        "Differentiation by hand on a tape: run the course's experiments, check derivatives, draw blocks", "chalkgrad");
    app.set_version_flag("--version", "chalkgrad " CHALKGRAD_VERSION);
    app.require_subcommand(1);
    app.footer("'chalkgrad COMMAND --help' shows a command's options and examples.");
    Commands commands(app);
    for (const auto add : {add_list, add_gradcheck, add_eval, add_parity, add_run, add_graph, add_trace, add_present,
             add_inspect, add_exercise, add_rng, add_probe, add_generate})
        add(commands);

    check_command(app, argc, argv);
    if (argc > 2 && std::string_view(argv[1]) == "run" && is_cpp_file(argv[2]))
        run_file(argv[2], Words(argv + 3, argv + argc));
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) { // --help, --version
        return app.exit(asked);
    } catch (const CLI::ParseError& wrong) {
        const auto given = app.get_subcommands();
        throw Error(
            fmt::format("{}; see 'chalkgrad {}--help'", wrong.what(), given.empty() ? "" : given[0]->get_name() + " "));
    }
    return commands.run();
}

} // namespace

int main(int argc, char** argv) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        if (std::signal(signal, on_signal) == SIG_IGN) std::signal(signal, SIG_IGN); // as nohup wants it
    std::signal(SIGXFSZ, SIG_IGN); // a file that may grow no further is an error, as a full disk is
    int status = 2;
    try {
        status = run(argc, argv);
        check_standard_output();
    } catch (const std::bad_alloc&) {
        status = refuse("out of memory; try a smaller input");
    } catch (const std::exception& error) { status = refuse(error.what()); }
    if (interrupted != 0) {
        std::signal(interrupted, SIG_DFL);
        std::raise(interrupted);
    }
    return status;
}
