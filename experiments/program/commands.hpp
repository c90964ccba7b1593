// The commands: what each is given on the command line, and the function that runs it and returns the exit status.
// All throw Error for a call that is wrong; files are then not written. graph.hpp and gradcheck.hpp have the other two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/numpy/pcg64.hpp>

namespace chalkgrad {

struct ListOptions {
    std::string what; ///< ops, experiments, blocks, models or exercises
    bool json = false;
};
/// Prints the list, as text or as JSON [{"name", "purpose", "section"}].
int run_list(const ListOptions& options);

struct EvalOptions {
    std::string op;
    std::vector<std::string> inputs;      ///< NAME=FILE
    std::vector<std::string> constants;   ///< NAME=FILE
    std::vector<std::string> attributes;  ///< KEY=VALUE, the value JSON or else a word
    std::optional<std::string> cotangent; ///< FILE, or NAME=FILE with the output's name
    std::string dtype = "double";
    bool strict = false;
    std::vector<std::string> compared; ///< NAME=FILE or NAME.grad=FILE
    std::filesystem::path out;
};
/// Writes the output, and with a cotangent the gradient of every input, all or none; prints where, and how the
/// comparisons went. 1 when one fails.
int run_eval(const EvalOptions& options);

struct ParityOptions {
    std::filesystem::path manifest;
    std::string op; ///< only its cases; empty: all
    bool json = false;
};
/// Prints the verdicts, as text or as the JSON document of the contract. 1 when a case fails; unsupported ones do not
/// count.
int run_parity(const ParityOptions& options);

struct RunOptions {
    std::vector<std::string> names;           ///< these, or
    std::optional<std::string> section;       ///< those of one section, or
    bool all = false;                         ///< every one, which also writes index.html into `out`
    std::optional<std::filesystem::path> out; ///< the folder for tables, plots and graphs; absent: none are made
    std::optional<uint128> seed;              ///< instead of the seeds of the reference values
    bool json = false;
};
/// Prints the findings, as text or as the JSON document of the contract. 1 when a number fails.
int run_experiments(const RunOptions& options);

struct TraceOptions {
    std::string name; ///< a block, an op or an experiment
    std::optional<std::uint64_t> seed;
    bool json = false;
};
/// Records it, goes backward, and prints the tape line by line.
int run_trace(const TraceOptions& options);

struct PresentOptions {
    std::string name; ///< a block, an op or an experiment
    std::optional<std::uint64_t> seed;
    std::filesystem::path output; ///< the page
};
/// Writes the page that steps through a tape. Without KaTeX it says so and shows TeX.
int run_present(const PresentOptions& options);

struct InspectCommand {
    std::filesystem::path config;
    bool json = false;
    bool explain = false; ///< the four steps of course §20, in words
};
/// Prints facts and ledger as a table, as the JSON document of the contract, or explained.
int run_inspect(const InspectCommand& command);

struct ExerciseCommand {
    std::string action; ///< "list", "show" or "check"
    std::string name;
    std::string file;
    std::optional<std::size_t> hint;
    bool starter = false;
    std::string output; ///< where --starter goes; standard output without it
    bool json = false;
};
/// Prints what was asked for. 1 where a checked file is wrong; Error where it cannot be checked: it does not compile,
/// crashes, or does not end.
int run_exercise(const ExerciseCommand& command);

/// One draw. Numbers stay text, because seeds and bounds may exceed every built-in type.
struct RngOptions {
    std::string seed;                      ///< decimal, any size: default_rng(seed)
    std::vector<std::string> seed_words;   ///< decimal numbers: default_rng([a, b, …]), instead of `seed`
    std::string kind;                      ///< raw, random, uniform, standard_normal, normal or integers
    std::vector<std::string> parameters;   ///< in NumPy's order: normal loc scale, uniform low high, integers low high
    std::optional<std::string> loc, scale; ///< the same by name: normal, default 0 and 1
    std::optional<std::string> low, high;  ///< the same by name: uniform, default 0 and 1; integers, low default 0
    bool endpoint = false;                 ///< integers: `high` itself may be drawn
    std::vector<std::string> shape;        ///< "3,5", or "3" and "5"; empty draws a single number, a 0-d file
    std::string dtype;                     ///< empty: double, or int64 for integers, uint64 for raw
    std::filesystem::path out;             ///< the .npy file
};
/// Draws from NumPy's default_rng stream and writes `options.out`.
int run_rng(const RngOptions& options);

} // namespace chalkgrad
