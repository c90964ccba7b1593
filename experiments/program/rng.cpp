// Checks the words of a `chalkgrad rng` call, draws, and writes the file.
#include <chalkgrad/experiments/program/commands.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <span>

#include <fmt/ranges.h>

#include <chalkgrad/autograd/numpy/npy.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>

namespace chalkgrad {
namespace {

/// One draw. Numbers stay text, because seeds and bounds may exceed every built-in type.
struct RngOptions {
    Command c;
    std::string kind =
        c.option(kind, "KIND", "TEXT", "standard_normal, normal, uniform, random, integers or raw", Given::always);
    Words parameters = c.option(
        parameters, "PARAMETER", "TEXT", "In NumPy's order: normal loc scale, uniform low high, integers low high");
    std::string seed = c.option(seed, "--seed", "N", "As in default_rng(N), of any size");
    Words seed_words =
        c.option(seed_words, "--seed-words", "A,B,...", "As in default_rng([A, B, ...])", Given::with_commas);
    Word loc = c.option(loc, "--loc", "X", "normal: the mean, 0");
    Word scale = c.option(scale, "--scale", "X", "normal: the standard deviation, 1");
    Word low = c.option(low, "--low", "X", "uniform, integers: the lower bound, 0");
    Word high = c.option(high, "--high", "X", "uniform, integers: the upper bound, itself not drawn");
    bool endpoint = c.flag(endpoint, "--endpoint", "integers: the upper bound may be drawn");
    Words shape = c.option(shape, "--shape", "N,...", "The array's shape; without it one number, a 0-d file");
    std::string dtype = c.option(dtype, "--dtype", "TYPE", "NumPy's name of the element type");
    Path out = c.option(out, "--out", "FILE.npy", "The file to write", Given::always);
};

/// What a kind of draw takes, and what it makes unless told otherwise.
struct Kind {
    std::string_view name;
    std::array<std::string_view, 2> parameters; ///< Their names in NumPy's order.
    std::array<std::string_view, 2> defaults;
    NpyType dtype;
};
constexpr std::array<Kind, 6> kinds{{{"raw", {}, {}, NpyType::uint64}, {"random", {}, {}, NpyType::float64},
    {"uniform", {"low", "high"}, {"0", "1"}, NpyType::float64}, {"standard_normal", {}, {}, NpyType::float64},
    {"normal", {"loc", "scale"}, {"0", "1"}, NpyType::float64},
    {"integers", {"low", "high"}, {"0", ""}, NpyType::int64}}};

const Kind& kind_of(const RngOptions& options) {
    for (const Kind& kind : kinds)
        if (kind.name == options.kind) return kind;
    throw Error(
        fmt::format("rng: '{}' is no kind of draw; choose raw, random, uniform, standard_normal, normal or integers",
            options.kind));
}

/// The two parameters as text, from their places, their names, or the defaults. As in NumPy, `integers 10` means 0
/// to 10.
std::array<std::string, 2> parameters_of(const RngOptions& options, const Kind& kind) {
    const std::array named{std::pair("loc", &options.loc), std::pair("scale", &options.scale),
        std::pair("low", &options.low), std::pair("high", &options.high)};
    Words placed = options.parameters;
    if (kind.name == "integers" && placed.size() == 1 && !options.low && !options.high)
        placed.insert(placed.begin(), "0");
    const std::size_t allowed = kind.parameters[0].empty() ? 0 : 2;
    if (placed.size() > allowed)
        throw Error(fmt::format("rng: {} takes {}, not '{}'", kind.name,
            allowed ? fmt::format("{} and {}", kind.parameters[0], kind.parameters[1]) : "no numbers",
            options.parameters.back()));

    std::array<std::string, 2> result;
    for (std::size_t i = 0; i < allowed; ++i) result[i] = i < placed.size() ? placed[i] : kind.defaults[i];
    for (const auto& [name, value] : named) {
        if (!*value) continue;
        const auto at = std::find(kind.parameters.begin(), kind.parameters.end(), name) - kind.parameters.begin();
        if (at == 2) throw Error(fmt::format("rng: {} has no {}; leave --{} out", kind.name, name, name));
        if (static_cast<std::size_t>(at) < placed.size())
            throw Error(
                fmt::format("rng: {} is given twice, as {} and --{} {}; keep one", name, placed[at], name, **value));
        result[at] = **value;
    }
    return result;
}

template <class T> T parse(std::string_view text, std::string_view what, const char* wanted) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc::result_out_of_range)
        throw Error(fmt::format("rng: {} {} is out of range; give another {}", what, text, wanted));
    if (error != std::errc() || stop != end) throw Error(fmt::format("rng: {} '{}' is not a {}", what, text, wanted));
    return value;
}

double real(const std::string& text, std::string_view what) { return parse<double>(text, what, "number"); }

/// A bound of integers: −2⁶³ to 2⁶⁴, so that every range of every type can be said.
int128 bound(const std::string& text, std::string_view what) {
    if (text.empty()) throw Error(fmt::format("rng: integers needs a bound; give --{} N", what));
    if (text == "18446744073709551616") return int128{1} << 64;
    return text[0] == '-' ? int128{parse<std::int64_t>(text, what, "whole number")}
                          : int128{parse<std::uint64_t>(text, what, "whole number")};
}

Seed seed_of(const RngOptions& options) {
    if (options.seed_words.empty()) {
        if (options.seed.empty()) throw Error("rng: no seed; give --seed N or --seed-words A,B,…");
        return Seed::parse(options.seed);
    }
    if (!options.seed.empty()) throw Error("rng: --seed and --seed-words exclude each other; keep one");
    Seed seed{};
    for (const std::string& word : options.seed_words) seed.append(Seed::parse(word));
    return seed;
}

std::vector<std::size_t> shape_of(const RngOptions& options) {
    std::vector<std::size_t> shape;
    for (std::string_view rest : options.shape) {
        for (bool more = !rest.empty(); more;) {
            const std::size_t comma = rest.find(',');
            more = comma != std::string_view::npos;
            shape.push_back(parse<std::size_t>(rest.substr(0, comma), "extent", "whole number >= 0"));
            if (more) rest.remove_prefix(comma + 1);
        }
    }
    return shape;
}

/// Integers of the first of the types I that is the file's; false where none is.
template <class... I> bool draw_integers(Generator& rng, int128 low, int128 high, Endpoint endpoint, NpyArray& out) {
    const auto draw = [&](auto values) { return rng.fill_integers(low, high, values, endpoint), true; };
    return ((out.type == npy_type_of<I> && draw(out.values<I>())) || ...);
}

void draw(Generator& rng, const Kind& kind, const RngOptions& options, NpyArray& out) {
    const auto [first, second] = parameters_of(options, kind);
    if (options.endpoint && kind.name != "integers")
        throw Error(fmt::format("rng: {} has no endpoint; leave --endpoint out", kind.name));
    const auto unfit = [&](const char* fitting) {
        throw Error(fmt::format("rng: {} does not draw {}; choose {}", kind.name, name(out.type), fitting));
    };

    if (kind.name == "integers") {
        const int128 low = bound(first, "low"), high = bound(second, "high");
        const Endpoint endpoint = options.endpoint ? Endpoint::closed : Endpoint::open;
        using namespace std;
        if (!draw_integers<bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
                rng, low, high, endpoint, out))
            unfit("bool or an integer type");
        return;
    }
    if (kind.name == "raw") {
        if (out.type != NpyType::uint64) unfit("uint64");
        return rng.fill_raw(out.values<std::uint64_t>());
    }
    if (out.type == NpyType::float32 && kind.name == "random") return rng.fill_random(out.values<float>());
    if (out.type == NpyType::float32 && kind.name == "standard_normal")
        return rng.fill_standard_normal(out.values<float>());
    if (out.type != NpyType::float64) unfit(first.empty() ? "float32 or float64" : "float64, as NumPy does");
    const std::span<double> values = out.values<double>();
    if (kind.name == "random") rng.fill_random(values);
    else if (kind.name == "standard_normal") rng.fill_standard_normal(values);
    else if (kind.name == "normal") rng.fill_normal(real(first, "loc"), real(second, "scale"), values);
    else rng.fill_uniform(real(first, "low"), real(second, "high"), values);
}

int run_rng(const RngOptions& options) {
    const Kind& kind = kind_of(options);
    if (options.out.empty()) throw Error("rng: no file to write; give --out F.npy");
    Generator rng(seed_of(options));
    const std::vector<std::size_t> shape = shape_of(options);
    const NpyType dtype = options.dtype.empty() ? kind.dtype : npy_type(options.dtype);
    try {
        NpyArray array(shape, dtype);
        draw(rng, kind, options, array);
        write_npy(options.out, array);
    } catch (const std::bad_alloc&) {
        throw Error(
            fmt::format("rng: --shape {} of {} does not fit in memory; draw less", fmt::join(shape, ","), name(dtype)));
    }
    return 0;
}

} // namespace

void add_rng(Commands& commands) {
    commands.add("rng", "Draw from the stream of NumPy's default_rng and write a .npy file", run_rng,
        "  chalkgrad rng --seed 5 standard_normal --shape 3,5 --out x.npy\n"
        "  chalkgrad rng --seed 8 uniform --low -4 --high 4 --shape 3,8 --out u.npy\n"
        "  chalkgrad rng --seed-words 1,2,3 integers --low 0 --high 10 --shape 100 --out k.npy");
}

} // namespace chalkgrad
