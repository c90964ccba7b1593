// How a command declares itself on the command line: its name, its options, and what runs it. CLI11 stays in commands.cpp.
#pragma once // internal

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <chalkgrad/autograd/numpy/pcg64.hpp>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace chalkgrad {

/// How an option is given: as CLI11 takes it, always, several times with one value each (a list would swallow what
/// follows), or as a list with commas.
enum class Given { freely, always, one_by_one, with_commas };

/// One command. What its options are read into must live until it has run.
class Command {
public:
    explicit Command(CLI::App& app) : app_(app) {}

    /// An option, or with a name in capitals a place on the command line; `type` is what help calls its value. T is a
    /// word, a path, a number, an optional one of these, or a list of words.
    template <class T>
    void option(const char* name, T& target, const char* type, const std::string& purpose, Given given = Given::freely);
    void flag(const char* name, bool& target, const char* purpose);
    void json(bool& target) { flag("--json", target, "One JSON document on standard output"); }
    /// A whole number of 64 or 128 bits.
    template <class N> void seed(std::optional<N>& target, const char* purpose);
    void excludes(const char* name, const char* other);

private:
    CLI::App& app_;
};

/// The program's command line.
class Commands {
public:
    explicit Commands(CLI::App& app) : app_(app) {}

    /// `run` returns the exit status: 0 when all that is checked holds, 1 when something does not. It throws Error for a
    /// call that is wrong; files are then not written.
    Command add(const char* name, const std::string& purpose, std::function<int()> run, const std::string& examples);
    /// Runs the command that was given.
    int run() const { return call_(); }

private:
    CLI::App& app_;
    std::function<int()> call_;
};

void add_list(Commands& commands);
void add_gradcheck(Commands& commands);
void add_eval(Commands& commands);
void add_parity(Commands& commands);
void add_run(Commands& commands);
void add_graph(Commands& commands);
void add_trace(Commands& commands);
void add_present(Commands& commands);
void add_inspect(Commands& commands);
void add_exercise(Commands& commands);
void add_rng(Commands& commands);

/// Prints a catalogue: ops, experiments, blocks, models or exercises, as text or as JSON [{"name", "purpose", "section"}].
int run_list(const std::string& what, bool json);

} // namespace chalkgrad
