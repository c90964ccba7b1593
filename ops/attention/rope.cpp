// rope:  (a, b) → (a cos θ − b sin θ, a sin θ + b cos θ),  θ = (offset + t) base^(−2i/r) for pair i of token t, or slower
#include <chalkgrad/autograd/kernel/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// Turns the leading pairs of `count` stacks of `tokens` rows of length d, and copies the rest. `cosine` and `sine` hold a row
// of `pairs` numbers for each token; `sign` is 1, or −1 to turn back.
template <class T>
void rope_turn(std::size_t count, std::size_t tokens, std::size_t d, std::size_t pairs, bool interleaved, T sign,
    const T* cosine, const T* sine, const T* x, T* y) {
    const std::size_t r = 2 * pairs;
    for (std::size_t row = 0; row < count * tokens; ++row, x += d, y += d) {
        const T *const c = cosine + row % tokens * pairs, *const s = sine + row % tokens * pairs;
        if (interleaved)
            each<T>(pairs, [=](std::size_t i) FAST {
                const T a = x[2 * i], b = x[2 * i + 1], si = sign * s[i];
                y[2 * i] = a * c[i] - b * si;
                y[2 * i + 1] = a * si + b * c[i];
            });
        else
            each<T>(pairs, [=](std::size_t i) FAST {
                const T a = x[i], b = x[pairs + i], si = sign * s[i];
                y[i] = a * c[i] - b * si;
                y[pairs + i] = a * si + b * c[i];
            });
        each<T>(d - r, [=](std::size_t j) FAST { y[r + j] = x[r + j]; });
    }
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(rope_turn)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <numbers>
#include <span>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/attention/rope.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>

namespace chalkgrad {
namespace {

using Kind = RopeScaling::Kind;
constexpr std::pair<Kind, const char*> stretches[] = {
    {Kind::none, "none"}, {Kind::linear, "linear"}, {Kind::llama3, "llama3"}, {Kind::yarn, "yarn"}};

/// The numbers of a stretch; it has the first two where it is linear.
constexpr std::pair<const char*, double RopeScaling::*> stretch_numbers[] = {{"factor", &RopeScaling::factor},
    {"magnitude", &RopeScaling::magnitude}, {"context", &RopeScaling::context}, {"slow", &RopeScaling::slow},
    {"fast", &RopeScaling::fast}};
std::span<const std::pair<const char*, double RopeScaling::*>> numbers_of(Kind kind) {
    return {stretch_numbers, kind == Kind::none ? 0u : kind == Kind::linear ? 2u : 5u};
}

/// The share of its speed that pair i keeps.
template <class Angle> Angle kept_share(const RopeOptions& o, std::size_t i, std::size_t pairs, Angle speed) {
    using std::ceil, std::clamp, std::floor, std::log, std::max, std::min;
    const RopeScaling& s = o.stretch;
    constexpr Angle two_pi = 2 * std::numbers::pi_v<Angle>;
    if (s.kind == Kind::none) return 1;
    if (s.kind == Kind::linear) return 0;
    const Angle context = static_cast<Angle>(s.context), slow = static_cast<Angle>(s.slow),
                fast = static_cast<Angle>(s.fast);
    if (s.kind == Kind::llama3) return clamp((context * speed / two_pi - slow) / (fast - slow), Angle(0), Angle(1));
    // The pair that turns n times within the context, as a real number.
    const auto pair_of = [&](Angle n) {
        return static_cast<Angle>(pairs) * log(context / (two_pi * n)) / log(static_cast<Angle>(o.base));
    };
    Angle first = pair_of(fast), last = pair_of(slow);
    if (s.whole_pairs) first = floor(first), last = ceil(last);
    first = max(first, Angle(0));
    last = min(last, static_cast<Angle>(2 * pairs - 1));
    if (first == last) last += Angle(0.001L); // a step
    return 1 - clamp((static_cast<Angle>(i) - first) / (last - first), Angle(0), Angle(1));
}

template <class Angle> Angle speed_of(const RopeOptions& o, std::size_t i, std::size_t pairs) {
    using std::pow;
    const Angle speed = pow(static_cast<Angle>(o.base), -static_cast<Angle>(i) / static_cast<Angle>(pairs)),
                kept = kept_share(o, i, pairs, speed);
    return kept * speed + (1 - kept) * speed / static_cast<Angle>(o.stretch.factor);
}

/// cos θ and sin θ of every token and pair. Angles are taken in double even for float: at position 10⁵ a float angle is wrong
/// in the third digit.
template <class T> void fill_tables(const RopeOptions& o, std::size_t tokens, std::size_t pairs, T* cosine, T* sine) {
    using Angle = std::conditional_t<std::is_same_v<T, long double>, long double, double>;
    using std::cos, std::sin;
    const Angle magnitude = static_cast<Angle>(o.stretch.magnitude);
    for (std::size_t i = 0; i < pairs; ++i) {
        const Angle turn = speed_of<Angle>(o, i, pairs);
        for (std::size_t t = 0; t < tokens; ++t) {
            const Angle angle = static_cast<Angle>(o.offset + static_cast<std::ptrdiff_t>(t)) * turn;
            cosine[t * pairs + i] = static_cast<T>(magnitude * cos(angle));
            sine[t * pairs + i] = static_cast<T>(magnitude * sin(angle));
        }
    }
}

struct Rope {
    static constexpr const char* name = "rope";
    static constexpr const char* inputs[] = {"x"};
    RopeOptions options;

    std::size_t pairs(const Shape& x) const { return options.rotary_dim.value_or(x.last()) / 2; }
    std::size_t tokens(const Shape& x) const { return x[x.rank() - 2]; }

    Shape shape(Shapes in) const {
        const Shape& x = in[0];
        if (x.rank() < 2)
            throw Error(fmt::format(
                "rope: x has shape {}; it needs an axis of tokens and one of features, shape (…, T, D)", to_string(x)));
        const std::size_t r = options.rotary_dim.value_or(x.last());
        if (r == 0 || r % 2 != 0 || r > x.last())
            throw Error(fmt::format(
                "rope: {} of the {} features of x, shape {}, are to turn in pairs; rotary_dim must be even, at least 2 "
                "and at most {}",
                r, x.last(), to_string(x), x.last()));
        require_positive(name, "base", options.base);
        const RopeScaling& s = options.stretch;
        for (const auto& [number, member] : numbers_of(s.kind)) require_positive(name, number, s.*member);
        if (s.kind == Kind::none || s.kind == Kind::linear) return x;
        if (!(s.fast > s.slow))
            throw Error(fmt::format("rope: fast is {} and slow {}; fast must be the larger", s.fast, s.slow));
        if (s.kind == Kind::yarn && !(options.base > 1))
            throw Error(fmt::format("rope: base is {}; for yarn it must be above 1", options.base));
        return x;
    }
    // The tables: all heads and the backward use them again, and a sine costs as much as turning a dozen pairs.
    std::size_t saved(Shapes in) const { return 2 * tokens(in[0]) * pairs(in[0]); }
    void attributes(Attributes& out) const {
        out.set("style", std::string(options.style == RopeStyle::halves ? "half" : "interleaved"));
        out.set("base", options.base);
        out.set("offset", static_cast<double>(options.offset));
        if (options.rotary_dim) out.set("rotary_dim", static_cast<double>(*options.rotary_dim));
        const RopeScaling& s = options.stretch;
        if (s.kind == Kind::none) return;
        out.set("stretch", std::string(chalkgrad::name(s.kind)));
        for (const auto& [number, member] : numbers_of(s.kind)) out.set(number, s.*member);
        if (s.kind == Kind::yarn) out.set("whole_pairs", s.whole_pairs);
    }

    template <class T> void turn(const Shape& shape, T sign, const T* tables, const T* x, T* y) const {
        const std::size_t p = pairs(shape), n = tokens(shape);
        if (shape.size() == 0) return;
        kernel::rope_turn<T>(shape.rows() / n, n, shape.last(), p, options.style == RopeStyle::interleaved, sign,
            tables, tables + n * p, x, y);
    }
    template <class T> void forward(Ins<T> in, Out<T> y, T* tables) const {
        const std::size_t p = pairs(*y.shape), n = tokens(*y.shape);
        fill_tables(options, n, p, tables, tables + n * p);
        turn(*y.shape, T(1), tables, in[0].data, y.data);
    }
    // A rotation's transpose turns back by the same angle; a magnitude stays.
    template <class T> void vjp(Ins<T>, In<T>, In<T> gy, const T* tables, Outs<T> gx) const {
        turn(*gy.shape, T(-1), tables, gy.data, gx[0].data);
    }
};

} // namespace

const char* name(Kind kind) {
    for (const auto& [known, word] : stretches)
        if (known == kind) return word;
    throw Error("rope: unknown stretch");
}

std::optional<RopeScaling::Kind> stretch_named(std::string_view word) {
    for (const auto& [kind, its] : stretches)
        if (word == its) return kind;
    return {};
}

std::vector<double> rope_speeds(const RopeOptions& options, std::size_t r) {
    std::vector<double> speeds;
    for (std::size_t i = 0; i < r / 2; ++i) speeds.push_back(speed_of<double>(options, i, r / 2));
    return speeds;
}

template <class T> Var<T> rope(const Var<T>& x, const RopeOptions& options) { return apply(Rope{options}, x); }

// y = x C + (x R) S with tables C, S (T, D) of cosines and sines, 1 and 0 for features that stay, and R the matrix that puts
// each feature's partner in its place: a for b, −b for a.
template <class T> Var<T> rope_composed(const Var<T>& x, const RopeOptions& options) {
    const Shape& shape = x.shape();
    const Shape* const shapes[] = {&shape};
    Rope{options}.shape({shapes, 1});
    const std::size_t d = shape.last(), n = shape[shape.rank() - 2], pairs = Rope{options}.pairs(shape);
    using Work = work_t<T>;
    std::vector<Work> tables(2 * n * pairs);
    fill_tables(options, n, pairs, tables.data(), tables.data() + n * pairs);
    Array<T> cosine = Array<T>::from_shape({n, d}), sine = Array<T>::from_shape({n, d}),
             partner = Array<T>::from_shape({d, d});
    cosine.fill(T(1));
    sine.fill(T(0));
    partner.fill(T(0));
    for (std::size_t i = 0; i < pairs; ++i) {
        const bool interleaved = options.style == RopeStyle::interleaved;
        const std::size_t a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : pairs + i;
        for (std::size_t t = 0; t < n; ++t) {
            cosine(t, a) = cosine(t, b) = static_cast<T>(tables[t * pairs + i]);
            sine(t, a) = sine(t, b) = static_cast<T>(tables[(n + t) * pairs + i]);
        }
        partner(b, a) = T(-1);
        partner(a, b) = T(1);
    }
    const Tape tape = x.tape();
    const Var<T> kept = x * tape.constant(cosine, "cos"), partners = matmul(x, tape.constant(partner, "partner"));
    return kept + partners * tape.constant(sine, "sin");
}

CHALKGRAD_INSTANCES(rope, rope_composed)

static RopeOptions options_of(Settings& c) {
    RopeOptions o;
    const std::string style = c.word("style", "half");
    if (style != "half" && style != "interleaved")
        throw Error(fmt::format("rope: style is '{}'; it must be half or interleaved", style));
    o.style = style == "half" ? RopeStyle::halves : RopeStyle::interleaved;
    o.base = c.number("base", 10000);
    o.offset = c.integer("offset", 0);
    if (const auto r = c.maybe_integer("rotary_dim")) {
        if (*r < 0) throw Error(fmt::format("rope: rotary_dim is {}; it must be even and at least 2", *r));
        o.rotary_dim = static_cast<std::size_t>(*r);
    }
    const std::string stretch = c.word("stretch", "none");
    const auto kind = stretch_named(stretch);
    if (!kind) throw Error(fmt::format("rope: stretch is '{}'; it must be none, linear, llama3 or yarn", stretch));
    o.stretch.kind = *kind;
    if (*kind == Kind::yarn) o.stretch.fast = 32;
    for (const auto& [number, member] : stretch_numbers) o.stretch.*member = c.number(number, o.stretch.*member);
    o.stretch.whole_pairs = c.flag("whole_pairs", true);
    return o;
}

CatalogEntry rope_entry() {
    return entry("rope", "(a, b) -> (a cos - b sin, a sin + b cos), angle (offset + t) base^(-2i/r)", "Su et al. 2021",
        "x", [](Settings& c) { return rule_of(Rope{options_of(c)}); })
        .with_samples({"halves: x(2,3,10) style=half base=100", "neighbours: x(2,3,6) style=interleaved offset=3",
            "some_stay: x(4,11) style=half rotary_dim=4 offset=-2",
            "some_neighbours_stay: x(1,3,3) style=interleaved rotary_dim=2",
            "llama3: x(1,3,10) style=half base=100 offset=2 stretch=llama3 factor=8 context=16 "
            "slow=0.5 fast=2",
            "yarn: x(2,3,12) style=interleaved base=50 stretch=yarn factor=4 context=64 "
            "whole_pairs=false slow=1 fast=4 "
            "magnitude=1.2"})
        .with_twin([](auto& c) { return rope_composed(c.in("x"), options_of(c)); })
        .with_identities([](const Sample& s) {
            const std::size_t d = last_extent(*s.input("x"));
            return std::vector<Identity>{homogeneous("x", 1), block_diagonal_rows("x", d, d)};
        });
}

} // namespace chalkgrad
#endif
