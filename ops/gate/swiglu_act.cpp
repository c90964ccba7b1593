// swiglu_act:  g′ = min(g, gate_limit),  u′ = clip(u, ±up_limit),  y = φ(g′) (u′ + shift),  φ(z) = z σ(αz)
// gpt_oss_packed: the same with g = p[0::2], u = p[1::2], both limits equal, shift 1
#include <chalkgrad/ops/catalog/cotangent.hpp>
#include <chalkgrad/ops/elementwise/activation_functions.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

/// Which limits there are, where the compiler can use it; in `none` and `both` α is above 0.
enum class SwigluLimits { none, some, both };

/// The clamps; a limit that is absent is +inf. z = g′ is held at `low` and `high`, where z σ(αz) has become a zero: at the
/// infinity beyond, the product would be NaN. Comparisons with NaN are false: NaN passes.
template <class T, SwigluLimits limits_> struct SwigluClamps {
    static constexpr SwigluLimits limits = limits_;
    T gate_limit, up_limit, low, high;

    FAST T gate(T g) const {
        const T z = limits != SwigluLimits::none && g > high ? high : g;
        return z < low ? low : z;
    }
    FAST T up(T u) const {
        if constexpr (limits == SwigluLimits::none) return u;
        const T v = u > up_limit ? up_limit : u;
        return v < -up_limit ? -up_limit : v;
    }
    // Exactly at a limit still counts as inside; NaN does not, where there is a limit.
    FAST bool gate_inside(T g) const { return below(g, gate_limit); }
    FAST bool up_inside(T u) const { return below(abs(u), up_limit); }

private:
    FAST static bool below(T x, T limit) {
        if constexpr (limits == SwigluLimits::none) return true;
        return x <= limit || (limits == SwigluLimits::some && limit == T(__builtin_inf()));
    }
};

/// body(clamps): the shortest for these limits.
template <class T, class F> FAST inline void with_clamps(T alpha, T gate_limit, T up_limit, F body) {
    const T absent(__builtin_inf()), zero_from = 20000 / alpha; // e^−20000 is 0 in long double too
    const T low = alpha < 0 ? -absent : -zero_from,
            high = alpha < 0 && -zero_from < gate_limit ? -zero_from : gate_limit;
    if (alpha > 0 && gate_limit == absent && up_limit == absent)
        body(SwigluClamps<T, SwigluLimits::none>{gate_limit, up_limit, low, high});
    else if (alpha > 0 && gate_limit < absent && up_limit < absent)
        body(SwigluClamps<T, SwigluLimits::both>{gate_limit, up_limit, low, high});
    else body(SwigluClamps<T, SwigluLimits::some>{gate_limit, up_limit, low, high});
}

// Gates and ups are `step` apart: 1, or 2 where they take turns. p = σ(−|αz|), the smaller sigmoid, is kept for the backward.
template <std::size_t step, class T>
FAST inline void swiglu(
    std::size_t n, T alpha, T gate_limit, T up_limit, T shift, const T* gates, const T* ups, T* p, T* y) {
    with_clamps(alpha, gate_limit, up_limit, [=](auto clamp) FAST {
        each<T>(n, [=](std::size_t i) FAST {
            const T g = gates[step * i], u = ups[step * i];
            const T z = clamp.gate(g), smaller = smaller_sigmoid(alpha * z);
            y[i] = z * sigmoids(alpha * z, smaller).of_z * (clamp.up(u) + shift);
            p[i] = smaller;
        });
    });
}

// φ′ = s (1 + αz (1 − s)) = s + αφt with s = σ(αz), t = σ(−αz); at z = inf, φt is inf·0 and tends to 0.
// So ḡ = ȳ φ′ (u′ + c), ū = ȳ φ, each 0 beyond its limits.
template <std::size_t step, class T>
FAST inline void swiglu_gradients(std::size_t n, T alpha, T gate_limit, T up_limit, T shift, const T* gates,
    const T* ups, const T* p, const T* gy, T* gg, T* gu) {
    with_clamps(alpha, gate_limit, up_limit, [=](auto clamp) FAST {
        each<T>(n, [=](std::size_t i) FAST {
            constexpr SwigluLimits limits = decltype(clamp)::limits;
            const T g = gates[step * i], u = ups[step * i], z = clamp.gate(g);
            const auto [s, t] = sigmoids(limits == SwigluLimits::some ? alpha * z : z, p[i]);
            const T f = z * s, bend = alpha * (f * t),
                    slope = s + (limits != SwigluLimits::both && t == 0 ? T(0) : bend);
            // Computed before the conditions choose: a loop with branches is not vectorised.
            const T of_g = gy[i] * (clamp.up(u) + shift) * slope, of_u = gy[i] * f;
            const bool zero = is_zero(gy[i]);
            gg[step * i] = clamp.gate_inside(g) && !zero ? of_g : T(0);
            gu[step * i] = clamp.up_inside(u) && !zero ? of_u : T(0);
        });
    });
}

template <class T>
void swiglu_act_forward(
    bool packed, std::size_t n, T alpha, T gate_limit, T up_limit, T shift, const T* g, const T* u, T* p, T* y) {
    packed ? swiglu<2>(n, alpha, gate_limit, up_limit, shift, g, u, p, y)
           : swiglu<1>(n, alpha, gate_limit, up_limit, shift, g, u, p, y);
}
template <class T>
void swiglu_act_gradients(bool packed, std::size_t n, T alpha, T gate_limit, T up_limit, T shift, const T* g,
    const T* u, const T* p, const T* gy, T* gg, T* gu) {
    packed ? swiglu_gradients<2>(n, alpha, gate_limit, up_limit, shift, g, u, p, gy, gg, gu)
           : swiglu_gradients<1>(n, alpha, gate_limit, up_limit, shift, g, u, p, gy, gg, gu);
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(swiglu_act_forward, swiglu_act_gradients)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>
#include <chalkgrad/ops/shape/slice.hpp>

namespace chalkgrad {
namespace {

/// Of g and u, or of both packed into one input.
template <bool packed> struct Swiglu {
    static constexpr const char* name = packed ? "gpt_oss_packed" : "swiglu_act";
    static constexpr const char* inputs[] = {packed ? "p" : "g", "u"};
    static constexpr Role role = Role::gate;
    static constexpr std::size_t step = packed ? 2 : 1;
    SwigluOptions options;

    Shape shape(Shapes in) const {
        const Shape& first = in[0];
        if (!packed) require_same_shape(name, "g", first, "u", in[1]);
        else if (first.rank() == 0 || first.last() % 2 != 0)
            throw Error(fmt::format("{}: p has shape {}; its last axis holds gate and up in turn and must be even",
                name, to_string(first)));
        require_finite(name, "alpha", options.alpha);
        require_finite(name, "shift_up", options.shift_up);
        require_limit(name, packed ? "limit" : "gate_limit", options.gate_limit);
        require_limit(name, "up_limit", options.up_limit);
        return packed ? first.with(first.rank() - 1, first.last() / 2) : first;
    }
    std::size_t saved(Shapes in) const { return in[0].size() / step; } // p
    void attributes(Attributes& out) const {
        const auto limit = [](const std::optional<double>& value) { return value ? Attribute(*value) : Attribute(); };
        out.set("alpha", options.alpha);
        out.set(packed ? "limit" : "gate_limit", limit(options.gate_limit));
        if (packed) return;
        out.set("up_limit", limit(options.up_limit));
        out.set("shift_up", options.shift_up);
    }
    double length_scale(Ins<double>) const { return 1 / std::max(1.0, std::abs(options.alpha)); }
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        const T *g = in[0].data, *u = ups(in);
        for (std::size_t i = 0; i < in[0].size(); i += step) {
            if (options.gate_limit) out.branch(0, g[i], T(*options.gate_limit));
            if (!options.up_limit) continue;
            out.branch(1, u[i], T(*options.up_limit));
            out.branch(2, u[i], T(-*options.up_limit));
        }
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* p) const {
        kernel::swiglu_act_forward<T>(packed, y.size(), T(options.alpha), T(options.gate_limit.value_or(HUGE_VAL)),
            T(options.up_limit.value_or(HUGE_VAL)), T(options.shift_up), in[0].data, ups(in), p, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* p, Outs<T> gx) const {
        kernel::swiglu_act_gradients<T>(packed, y.size(), T(options.alpha), T(options.gate_limit.value_or(HUGE_VAL)),
            T(options.up_limit.value_or(HUGE_VAL)), T(options.shift_up), in[0].data, ups(in), p, gy.data, gx[0].data,
            ups(gx));
    }

private:
    static auto ups(auto list) { return packed ? list[0].data + 1 : list[1].data; }
};
using SwigluAct = Swiglu<false>;
using GptOssPacked = Swiglu<true>;

SwigluOptions packed_options(double alpha, double limit) { return {alpha, limit, limit, 1}; }

} // namespace

template <class T> Var<T> swiglu_act(const Var<T>& g, const Var<T>& u, const SwigluOptions& options) {
    return apply(SwigluAct{options}, g, u);
}
template <class T> Var<T> gpt_oss_packed(const Var<T>& p, double alpha, double limit) {
    return apply(GptOssPacked{packed_options(alpha, limit)}, p);
}

template <class T> Var<T> swiglu_act_composed(const Var<T>& g, const Var<T>& u, const SwigluOptions& options) {
    const auto& [alpha, gate_limit, up_limit, shift] = options;
    const Var<T> gate = gate_limit ? clamp(g, {}, gate_limit) : g;
    const Var<T> up = up_limit ? clamp(u, -*up_limit, up_limit) : u;
    return gate * sigmoid(alpha * gate) * (up + shift);
}
template <class T> Var<T> gpt_oss_packed_composed(const Var<T>& p, double alpha, double limit) {
    return swiglu_act_composed(slice(p, "..., ::2"), slice(p, "..., 1::2"), packed_options(alpha, limit));
}

CHALKGRAD_INSTANCES(swiglu_act, swiglu_act_composed)
CHALKGRAD_INSTANCES(gpt_oss_packed, gpt_oss_packed_composed)

namespace {

SwigluOptions swiglu_options(Settings& c) {
    c.ignore({"seed"});
    return {.alpha = c.number("alpha", 1),
        .gate_limit = c.limit("gate_limit"),
        .up_limit = c.limit("up_limit"),
        .shift_up = c.number("shift_up", 0)};
}
SwigluOptions packed_options(Settings& c) {
    c.ignore({"layout"});
    return packed_options(c.number("alpha", 1.702), c.number("limit", 7));
}

/// Numbers on all sides of the limits ±2 and none near them: |x| is in (0, 1.8) or (2.2, 3.2).
Array<double> around_limits(Generator& rng, std::string_view, const Shape& shape) {
    Array<double> x = rng.uniform(-2.8, 2.8, shape);
    for (double& v : x)
        if (std::abs(v) > 1.8) v += v < 0 ? -0.4 : 0.4;
    return x;
}

} // namespace

CatalogEntry swiglu_act_entry() {
    return entry("swiglu_act",
        "g' sigmoid(alpha g') (u' + shift_up); g' = min(g, gate_limit), u' = clip(u, +-up_limit)", "§9", "g u",
        [](Settings& c) { return rule_of(SwigluAct{swiglu_options(c)}); })
        .with_samples(
            {"plain: g(3,5) u(3,5) alpha=1", "gpt_oss: g(4,11) u(4,11) alpha=1.702 gate_limit=2 up_limit=2 shift_up=1",
                "gate_clamp: g(2,3) u(2,3) alpha=0.7 gate_limit=2 shift_up=-0.5",
                "up_clamp: g(7) u(7) alpha=-1.3 up_limit=2", "number: g() u() alpha=1.702 shift_up=1"},
            around_limits)
        .with_twin([](auto& c) { return swiglu_act_composed(c.in("g"), c.in("u"), swiglu_options(c)); })
        .with_identities(diagonal_jacobian({"g", "u"}));
}

CatalogEntry gpt_oss_packed_entry() {
    return entry("gpt_oss_packed", "swiglu_act(p[..., 0::2], p[..., 1::2]; alpha, limit, limit, 1)", "§15", "p",
        [](Settings& c) { return rule_of(GptOssPacked{packed_options(c)}); })
        .with_samples({"rows: p(3,18) alpha=1.702 limit=2", "width_one: p(2,3,2) alpha=1 limit=2",
                          "inside: p(22) alpha=1.702 limit=7"},
            around_limits)
        .with_twin([](auto& c) {
            const SwigluOptions options = packed_options(c);
            return gpt_oss_packed_composed(c.in("p"), options.alpha, *options.gate_limit);
        })
        .with_identities([](const Sample&) {
            return std::vector<Identity>{block_diagonal(
                "0 between pairs", "p", [](std::size_t i) { return i; }, [](std::size_t j) { return j / 2; })};
        });
}

} // namespace chalkgrad
#endif
