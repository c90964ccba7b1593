// The chalkgrad program: reads the command line, calls one function per command, and turns errors into one line and 2.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/autograd/numpy/pcg64.hpp>
#include <chalkgrad/experiments/program/commands.hpp>
#include <chalkgrad/experiments/program/gradcheck.hpp>
#include <chalkgrad/experiments/program/graph.hpp>
#include <chalkgrad/experiments/program/terminal.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/version.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

using namespace chalkgrad;

namespace {

// ---- commands: each adds its options, and says what to call with them

/// The call that the command line asks for; it returns the exit status.
using Call = std::function<int()>;

/// A command whose options live as long as the program; `call` is set when the command is given.
template <class Options>
std::pair<CLI::App*, Options*> add_command(CLI::App& app, Call& call, const char* name, const char* purpose,
    int (*run)(const Options&), const char* examples) {
    CLI::App* const command = app.add_subcommand(name, purpose);
    const auto options = std::make_shared<Options>();
    command->footer(std::string("Examples:\n") + examples);
    command->callback([&call, options, run] { call = [options, run] { return run(*options); }; });
    return {command, options.get()};
}

/// An option, or with a name in capitals a place on the command line; `type` is what help calls its value.
template <class Target>
CLI::Option* add(CLI::App* command, const char* name, Target& target, const char* type, const char* purpose) {
    return command->add_option(name, target, purpose)->type_name(type);
}

/// An option that may be given several times, with one value each: a list would swallow the op's name.
template <class Target>
void add_repeated(CLI::App* command, const char* name, Target& target, const char* type, const char* purpose) {
    add(command, name, target, type, purpose)->allow_extra_args(false);
}

CLI::Option* add_json(CLI::App* command, bool& json) {
    return command->add_flag("--json", json, "One JSON document on standard output");
}

/// A whole number of as many bits as N has; CLI11's own conversion lets signs wrap.
template <class N> void add_seed(CLI::App* command, std::optional<N>& seed, const char* purpose) {
    const auto read = [&seed](const std::string& text) {
        std::vector<std::uint32_t> words;
        try {
            words = Seed::parse(text).words();
        } catch (const Error&) {}
        if (words.empty() || words.size() * 4 > sizeof(N))
            throw Error(fmt::format("--seed: '{}' is no whole number from 0 to 2^{} - 1", text, 8 * sizeof(N)));
        N number = 0;
        for (std::size_t i = words.size(); i-- > 0;) number = number << 32 | words[i];
        seed = number;
    };
    command->add_option_function<std::string>("--seed", read, purpose)->type_name("N");
}

/// What `trace` and `present` take: the name of a tape to show, and a seed.
template <class Options> void add_tape(CLI::App* command, Options& options) {
    const char* const purpose = "A block, an op or an experiment ('chalkgrad list blocks' shows blocks)";
    command->add_option("BLOCK", options.name, purpose)->required();
    add_seed(command, options.seed, "Seed of the numbers and of the cotangent, 0");
}

void add_run(CLI::App& app, Call& call) {
    const auto [command, o] = add_command<RunOptions>(app, call, "run",
        "Run experiments: their numbers and verdicts, tables, plots and graphs", run_experiments,
        "  chalkgrad run forward_scale                  the numbers, on the terminal\n"
        "  chalkgrad run forward_scale --out report     also CSV, JSON, SVG, PDF and PNG files in report/\n"
        "  chalkgrad run --section 6 --json             one JSON document\n"
        "  chalkgrad run --all --out report             everything, with report/index.html\n"
        "Exit status: 0 when every number holds, 1 when one fails, 2 when the call is wrong.");
    command->add_option("EXPERIMENT", o->names, "Names of experiments ('chalkgrad list experiments' shows them)");
    add(command, "--section", o->section, "N", "Those of one section of the course");
    command->add_flag("--all", o->all, "Every experiment");
    add(command, "--out", o->out, "DIR", "Folder for the files; its other files are left alone");
    add_seed(command, o->seed, "Draw from this seed; numbers that depend on the reference seed are then not judged");
    add_json(command, o->json);
}

void add_rng(CLI::App& app, Call& call) {
    const auto [command, o] = add_command<RngOptions>(app, call, "rng",
        "Draw from the stream of NumPy's default_rng and write a .npy file", run_rng,
        "  chalkgrad rng --seed 5 standard_normal --shape 3,5 --out x.npy\n"
        "  chalkgrad rng --seed 8 uniform --low -4 --high 4 --shape 3,8 --out u.npy\n"
        "  chalkgrad rng --seed-words 1,2,3 integers --low 0 --high 10 --shape 100 --out k.npy");
    command->add_option("KIND", o->kind, "standard_normal, normal, uniform, random, integers or raw")->required();
    command->add_option(
        "PARAMETER", o->parameters, "In NumPy's order: normal loc scale, uniform low high, integers low high");
    add(command, "--seed", o->seed, "N", "As in default_rng(N), of any size");
    add(command, "--seed-words", o->seed_words, "A,B,...", "As in default_rng([A, B, ...])")
        ->delimiter(',')
        ->allow_extra_args(false);
    add(command, "--loc", o->loc, "X", "normal: the mean, 0");
    add(command, "--scale", o->scale, "X", "normal: the standard deviation, 1");
    add(command, "--low", o->low, "X", "uniform, integers: the lower bound, 0");
    add(command, "--high", o->high, "X", "uniform, integers: the upper bound, itself not drawn");
    command->add_flag("--endpoint", o->endpoint, "integers: the upper bound may be drawn");
    add(command, "--shape", o->shape, "N,...", "The array's shape; without it one number, a 0-d file");
    add(command, "--dtype", o->dtype, "TYPE", "NumPy's name of the element type");
    add(command, "--out", o->out, "FILE.npy", "The file to write")->required();
}

void add_list(CLI::App& app, Call& call) {
    const auto [command, o] = add_command<ListOptions>(app, call, "list",
        "What there is: ops, experiments, blocks, models, exercises", run_list,
        "  chalkgrad list ops\n"
        "  chalkgrad list experiments --json");
    command->add_option("WHAT", o->what, "ops, experiments, blocks, models or exercises")->required();
    add_json(command, o->json);
}

void add_gradcheck(CLI::App& app, Call& call) {
    const auto [command, o] = add_command<GradcheckCommand>(app, call, "gradcheck",
        "Check hand-derived backwards against differences, dual numbers and the transpose identity", run_gradcheck,
        "  chalkgrad gradcheck rms_norm layer_norm pre\n"
        "  chalkgrad gradcheck --all --seed 3 --json\n"
        "  chalkgrad gradcheck --file my_op.cpp         compiles it and runs what it registers with "
        "CHALKGRAD_GRADCHECK\n"
        "Exit status: 0 when every sample passes, 1 when one fails or is inconclusive, 2 when the call is wrong.");
    command->add_option("OP", o->ops, "Names of ops and blocks ('chalkgrad list ops', 'chalkgrad list blocks')");
    command->add_flag("--all", o->all, "Every op, block, FFN and stack");
    add(command, "--file", o->file, "FILE.cpp", "A C++ file with checks of its own");
    add_seed(command, o->seed, "Seed of the samples and of the random directions, 0");
    add(command, "--tolerance", o->tolerance, "X", "Largest relative error of a Jacobian block, 1e-9");
    add_json(command, o->json);
}

void add_eval(CLI::App& app, Call& call) {
    const auto [command, o] =
        add_command<EvalOptions>(app, call, "eval", "Run one op on .npy files, forward and backward", run_eval,
            "  chalkgrad eval rms_norm --in x=x.npy --in gamma=g.npy --attr eps=1e-5 --out result\n"
            "  chalkgrad eval softmax --in x=x.npy --cotangent ct.npy --out result          also result/x.grad.npy\n"
            "  chalkgrad eval silu --in x=x.npy --cotangent ct.npy --compare y=want.npy --compare x.grad=gx.npy --out "
            "result\n"
            "  chalkgrad eval sum --in x=x.npy --attr axes=[0,1] --attr keepdims=true --dtype bfloat16 --out result\n"
            "Files of bfloat16 hold uint16 bits; gradients of half and bfloat16 are written in float.\n"
            "Exit status: 0 when all comparisons hold, 1 when one fails, 2 when the call or a file is wrong.");
    command->add_option("OP", o->op, "Name of an op ('chalkgrad list ops' shows them)")->required();
    add_repeated(command, "--in", o->inputs, "NAME=FILE.npy", "An input, floating-point");
    add_repeated(command, "--const", o->constants, "NAME=FILE.npy", "A constant: a mask, token ids, a condition");
    add_repeated(command, "--attr", o->attributes, "KEY=VALUE", "An attribute: JSON, else a word");
    add(command, "--cotangent", o->cotangent, "[NAME=]FILE.npy", "Go backward from the output with this");
    add(command, "--dtype", o->dtype, "TYPE", "double, float, half or bfloat16");
    command->add_flag("--strict", o->strict, "Refuse inputs that are not finite, as the course's listings do");
    add_repeated(
        command, "--compare", o->compared, "NAME[.grad]=FILE.npy", "Compare the output or a gradient with this");
    add(command, "--out", o->out, "DIR", "Folder for y.npy and INPUT.grad.npy; its other files are left alone")
        ->required();
}

void add_parity(CLI::App& app, Call& call) {
    const auto [command, o] = add_command<ParityOptions>(app, call, "parity",
        "Replay reference vectors: outputs and gradients of every case", run_parity,
        "  chalkgrad parity golden/manifest.json\n"
        "  chalkgrad parity golden/manifest.json --op rms_norm --json\n"
        "Exit status: 0 when no case fails, 1 when one does, 2 when the manifest or a file is wrong.");
    add(command, "MANIFEST", o->manifest, "MANIFEST.json", "A manifest of format golden-1")->required();
    add(command, "--op", o->op, "OP", "Only the cases of this op");
    add_json(command, o->json);
}

void add_graph(CLI::App& app, Call& call) {
    const auto [command, o] = add_command<GraphCommand>(app, call, "graph",
        "Draw a block: where its norms sit, and the residual line", run_graph,
        "  chalkgrad graph pre                                   DOT on standard output\n"
        "  chalkgrad graph peri --format svg -o peri.svg\n"
        "  chalkgrad graph pre --side-by-side post peri -o three.pdf\n"
        "  chalkgrad graph post --level op --backward -o post.svg\n"
        "  chalkgrad graph post --format json\n"
        "  chalkgrad graph --config config.json -o model.svg     one block of each kind that the model has");
    command->add_option("BLOCK", o->block, "A block ('chalkgrad list blocks' shows them)");
    add(command, "--config", o->config, "CONFIG.json", "A model's config.json");
    add(command, "--side-by-side", o->side_by_side, "BLOCK ...", "More blocks in the same figure");
    add(command, "--level", o->level, "LEVEL", "module, op, or composed: fused ops as what they are made of");
    add(command, "--depth", o->depth, "N", "How many levels of scopes to open, from 1");
    command->add_flag("--backward", o->backward, "Add the cotangents, with formulas and saved numbers");
    command->add_flag("--values", o->values, "Add root mean squares of values and gradients");
    add(command, "--theme", o->theme, "THEME", "light or dark");
    add(command, "--format", o->format, "FORMAT", "dot, svg, pdf, png or json; by the file's ending, else dot");
    add(command, "-o,--output", o->output, "FILE", "The file to write; standard output without it");
}

void add_trace(CLI::App& app, Call& call) {
    const auto [command, o] = add_command<TraceOptions>(app, call, "trace",
        "Print a tape as a table: every value, and every adjoint after the sweep", run_trace,
        "  chalkgrad trace pre\n"
        "  chalkgrad trace rms_norm --seed 3\n"
        "  chalkgrad trace forward_scale --json");
    add_tape(command, *o);
    add_json(command, o->json);
}

void add_present(CLI::App& app, Call& call) {
    const auto [command, o] = add_command<PresentOptions>(app, call, "present",
        "Make a page that steps through a tape, forward and backward", run_present,
        "  chalkgrad present pre -o pre.html\n"
        "The page needs no network and no other file. Printed from a browser, every step is a page.\n"
        "Its keys: arrows step, d shows a derivation, ? shows the others.");
    add_tape(command, *o);
    add(command, "-o,--output", o->output, "PAGE.html", "The page to write");
}

void add_inspect(CLI::App& app, Call& call) {
    const auto [command, o] = add_command<InspectCommand>(app, call, "inspect",
        "Read a model's config.json: its block, and every parameter counted", run_inspect,
        "  chalkgrad inspect config.json                a table, with the formulas\n"
        "  chalkgrad inspect config.json --explain      the four steps of reading a block, in words\n"
        "  chalkgrad inspect config.json --json\n"
        "No weight is allocated. 'chalkgrad list models' shows the model types.");
    add(command, "CONFIG", o->config, "CONFIG.json", "A model's config.json")->required();
    CLI::Option* const json = add_json(command, o->json);
    command->add_flag("--explain", o->explain, "Walk through the block in words")->excludes(json);
}

void add_exercise(CLI::App& app, Call& call) {
    const auto [command, o] = add_command<ExerciseCommand>(app, call, "exercise",
        "Exercises: derive a backward, write it, and have it checked", run_exercise,
        "  chalkgrad exercise list\n"
        "  chalkgrad exercise show rms_norm                                  the task\n"
        "  chalkgrad exercise show rms_norm --starter -o rms_norm.cpp        the file to fill in\n"
        "  chalkgrad exercise show rms_norm --hint 1\n"
        "  chalkgrad exercise check rms_norm rms_norm.cpp                    compiles it and checks values and "
        "gradients\n"
        "Exit status of check: 0 right, 1 wrong, 2 when the file could not be checked.");
    command->add_option("ACTION", o->action, "list, show or check")->required();
    command->add_option("NAME", o->name, "An exercise ('chalkgrad exercise list' shows them)");
    add(command, "FILE", o->file, "FILE.cpp", "check: your C++ file");
    add(command, "--hint", o->hint, "N", "show: only this hint, from 1");
    command->add_flag("--starter", o->starter, "show: only the file to start from");
    add(command, "-o,--output", o->output, "FILE.cpp", "show --starter: write it there");
    command->add_flag("--json", o->json, "list, check: one JSON document on standard output");
}

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
    std::vector<std::string> names;
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
    Call call;
    add_list(app, call);
    add_gradcheck(app, call);
    add_eval(app, call);
    add_parity(app, call);
    add_run(app, call);
    add_graph(app, call);
    add_trace(app, call);
    add_present(app, call);
    add_inspect(app, call);
    add_exercise(app, call);
    add_rng(app, call);

    check_command(app, argc, argv);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) { // --help, --version
        return app.exit(asked);
    } catch (const CLI::ParseError& wrong) {
        const auto given = app.get_subcommands();
        throw Error(
            fmt::format("{}; see 'chalkgrad {}--help'", wrong.what(), given.empty() ? "" : given[0]->get_name() + " "));
    }
    return call();
}

} // namespace

int main(int argc, char** argv) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        if (std::signal(signal, on_signal) == SIG_IGN) std::signal(signal, SIG_IGN); // as nohup wants it
    std::signal(SIGXFSZ, SIG_IGN); // a file that may grow no further is an error, as a full disk is
    int status = 2;
    try {
        status = run(argc, argv);
        if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
            throw Error("standard output cannot be written; is the disk full?");
    } catch (const std::bad_alloc&) {
        status = refuse("out of memory; try a smaller input");
    } catch (const std::exception& error) { status = refuse(error.what()); }
    if (interrupted != 0) {
        std::signal(interrupted, SIG_DFL);
        std::raise(interrupted);
    }
    return status;
}
