// What commands are written with: how they declare themselves on the command line (its CLI11 stays in commands.cpp) and how
// they run; a user's file compiled.
#pragma once // internal

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/autograd/numpy/pcg64.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/terminal.hpp>

namespace CLI {
class App;
} // namespace CLI

namespace chalkgrad {

// ---- on the command line

using Path = std::filesystem::path;
using Words = std::vector<std::string>;
using Word = std::optional<std::string>; ///< one that may be left out

/// How an option is given: as CLI11 takes it, always, several times with one value each (a list would swallow what
/// follows), or as a list with commas.
enum class Given { freely, always, one_by_one, with_commas };

/// A command as a struct of its options sees it: each member says what fills it, and gets the value that it has without,
///     struct ParityOptions {
///         Command c;
///         std::string op = c.option(op, "--op", "OP", "Only the cases of this op");
///     };
class Command {
public:
    explicit Command(CLI::App& app) : app_(app) {}

    /// An option, or with a name in capitals a place on the command line; `type` is what help calls its value. T is a
    /// word, a path, a number, an optional one of these, or a list of words.
    template <class T>
    T option(T& member, const char* name, const char* type, const std::string& purpose, Given given = Given::freely,
        const T& without = {});
    bool flag(bool& member, const char* name, const char* purpose);
    bool json(bool& member) { return flag(member, "--json", "One JSON document on standard output"); }
    /// --seed, a whole number of 64 or 128 bits.
    template <class N> std::optional<N> seed(std::optional<N>& member, const char* purpose);
    void exclude(const char* name, const char* other);

private:
    CLI::App& app_;
};

/// The program's command line.
class Commands {
public:
    explicit Commands(CLI::App& app) : app_(app) {}

    /// `run` returns the exit status: 0 when all that is checked holds, 1 when something does not. It throws Error for a
    /// call that is wrong; files are then not written.
    template <class Options>
    Command add(const char* name, const std::string& purpose, int (*run)(const Options&), const std::string& examples) {
        return add(name, purpose, examples, [run](const Command& command) {
            const std::shared_ptr<Options> options(new Options{command}); // where CLI11 fills its members
            return [=] { return run(*options); };
        });
    }
    /// Runs the command that was given.
    int run() const { return call_(); }

private:
    Command add(const char* name, const std::string& purpose, const std::string& examples,
        const std::function<std::function<int()>(const Command&)>& declare);

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
void add_probe(Commands& commands);
void add_generate(Commands& commands);

/// Prints a catalogue: ops, experiments, blocks, models or exercises, as text or as JSON [{"name", "purpose", "section"}].
int run_list(const std::string& what, bool json);

// ---- with a user's C++ file

/// The compiler, $CXX or else c++, with what it must be told to compile a user's file against the build tree or the installed
/// copy that this program belongs to; and what such a program is linked with. Throws Error when headers or library are not
/// where they should be.
struct CompilerCall {
    Words compile, libraries;
};
CompilerCall compiler_call();

/// `chalkgrad run FILE.cpp ARGUMENT...`: compiles the file unless that was done before, and becomes its program. Does not return.
[[noreturn]] void run_file(const Path& file, const Words& arguments);
/// Whether a word on the command line is a C++ file.
bool is_cpp_file(const std::string& word);

/// Compiles and links a user's file and the text `main` into `check` in a folder of its own, and lets `run` run it there:
/// the JSON that is then in answer.json, null without one. `flags`: more for the compiler, whose words go to standard error as
/// they are. Throws Error, which begins with `who`, when there is no such file; when it does not compile, and as compiler_call.
nlohmann::json answer_of(const char* who, const std::string& file, const char* main,
    const std::function<void(const Path& folder)>& run, const Words& flags = {});

} // namespace chalkgrad
