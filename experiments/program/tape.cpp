// `chalkgrad trace` and `chalkgrad present`: a tape as a table or JSON, and as a page that steps through it.
#include <chalkgrad/experiments/program/commands.hpp>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/experiments/present/present_page.hpp>

namespace chalkgrad {
namespace {

struct TapeOptions {
    Command c;
    std::string name = c.option(
        name, "BLOCK", "TEXT", "A block, an op or an experiment ('chalkgrad list blocks' shows blocks)", Given::always);
    std::optional<std::uint64_t> seed = c.seed(seed, "Seed of the numbers and of the cotangent, 0");

    TracedComputation subject(const char* command) const { return find_subject(command, name, seed.value_or(0)); }
};

struct TraceOptions : TapeOptions {
    bool json = c.json(json);
};

struct PresentOptions : TapeOptions {
    Path output = c.option(output, "-o,--output", "PAGE.html", "The page to write");
};

int trace(const TraceOptions& options) {
    const TracedComputation subject = options.subject("trace");
    const Tape tape = subject.y.tape();
    keep_all_gradients(tape);
    subject.y.backward(subject.cotangent);
    if (options.json) {
        fmt::print("{}", json_text({{"name", subject.name}, {"title", subject.title}, {"output", subject.y.line()},
                             {"lines", to_json(tape)}}));
        return 0;
    }
    fmt::print("{}: {}\n\n{}", subject.name, subject.title, fmt::streamed(tape));
    return 0;
}

int present(const PresentOptions& options) {
    if (options.output.empty()) throw Error("present: say where the page goes: -o PAGE.html");
    const auto katex = read_katex(katex_folder());
    if (!katex)
        fmt::print(stderr,
            "present: KaTeX is not in {}, so formulas stand as TeX; install Debian's libjs-katex and fonts-katex\n",
            katex_folder().string());
    write_file(options.output, present_page(options.subject("present"), katex));
    return 0;
}

} // namespace

void add_trace(Commands& commands) {
    commands.add("trace", "Print a tape as a table: every value, and every adjoint after the sweep", trace,
        "  chalkgrad trace pre\n"
        "  chalkgrad trace rms_norm --seed 3\n"
        "  chalkgrad trace forward_scale --json");
}

void add_present(Commands& commands) {
    commands.add("present", "Make a page that steps through a tape, forward and backward", present,
        "  chalkgrad present pre -o pre.html\n"
        "The page needs no network and no other file. Printed from a browser, every step is a page.\n"
        "Its keys: arrows step, d shows a derivation, ? shows the others.");
}

} // namespace chalkgrad
