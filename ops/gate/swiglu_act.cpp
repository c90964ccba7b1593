// swiglu_act:  g′ = min(g, gate_limit),  u′ = clip(u, ±up_limit),  y = φ(g′) (u′ + shift),  φ(z) = z σ(αz)
// gpt_oss_packed: the same with g = p[0::2], u = p[1::2], both limits equal, shift 1.  reglu, geglu:  y = φ(g) u
#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/catalog/cotangent.hpp>
#include <chalkgrad/ops/elementwise/activation_functions.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

/// Which limits there are, where the compiler can use it; in `none` and `both` α is above 0.
enum class SwigluLimits { none, some, both };

/// One element of it; a limit that is absent is +inf. p = σ(−|αg′|) is kept for the backward.
///
/// z = g′ is held at `low` and `high`, where z σ(αz) has become a zero: at the infinity beyond, the product would be NaN.
template <class T, SwigluLimits limits> struct Swiglu {
    T alpha, gate_limit, up_limit, shift, low, high;

    // Comparisons with NaN are false: NaN passes.
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
    FAST static bool below(T x, T limit) {
        if constexpr (limits == SwigluLimits::none) return true;
        return x <= limit || (limits == SwigluLimits::some && limit == T(__builtin_inf()));
    }

    FAST Pair<T> value_and_p(T g, T u) const {
        const T z = gate(g), w = alpha * z, p = smaller_sigmoid(w);
        return {z * sigmoids(w, p).of_z * (up(u) + shift), p};
    }

    // φ′ = s (1 + αz (1 − s)) = s + αφt with s = σ(αz), t = σ(−αz); at z = inf, φt is inf·0 and tends to 0.
    // So ḡ = ȳ φ′ (u′ + c), ū = ȳ φ, each 0 beyond its limits.
    FAST Pair<T> gradients(T g, T u, T p, T gy) const {
        const T z = gate(g);
        const auto [s, t] = sigmoids(limits == SwigluLimits::some ? alpha * z : z, p);
        // Computed before the conditions choose: a loop with branches is not vectorised.
        const T f = z * s, bend = alpha * (f * t), slope = s + (limits != SwigluLimits::both && t == 0 ? T(0) : bend);
        const T gg = gy * (up(u) + shift) * slope, gu = gy * f;
        return {below(g, gate_limit) && !is_zero(gy) ? gg : T(0), below(abs(u), up_limit) && !is_zero(gy) ? gu : T(0)};
    }
};

/// body(act): the shortest act for these limits.
template <class T, class F> FAST inline void with_swiglu(T alpha, T gate_limit, T up_limit, T shift, F body) {
    const T absent(__builtin_inf()), zero_from = 20000 / alpha; // e^−20000 is 0 in long double too
    const T low = alpha < 0 ? -absent : -zero_from,
            high = alpha < 0 && -zero_from < gate_limit ? -zero_from : gate_limit;
    if (alpha > 0 && gate_limit == absent && up_limit == absent)
        body(Swiglu<T, SwigluLimits::none>{alpha, gate_limit, up_limit, shift, low, high});
    else if (alpha > 0 && gate_limit < absent && up_limit < absent)
        body(Swiglu<T, SwigluLimits::both>{alpha, gate_limit, up_limit, shift, low, high});
    else body(Swiglu<T, SwigluLimits::some>{alpha, gate_limit, up_limit, shift, low, high});
}

template <class T>
void swiglu_act_forward(std::size_t n, T alpha, T gate_limit, T up_limit, T shift, const T* g, const T* u, T* p, T* y) {
    with_swiglu(alpha, gate_limit, up_limit, shift, [=](auto act) FAST {
        each<T>(n, [=](std::size_t i) FAST {
            const Pair<T> both = act.value_and_p(g[i], u[i]);
            y[i] = both.first;
            p[i] = both.second;
        });
    });
}
template <class T>
void swiglu_act_gradients(std::size_t n, T alpha, T gate_limit, T up_limit, T shift, const T* g, const T* u, const T* p,
    const T* gy, T* gg, T* gu) {
    with_swiglu(alpha, gate_limit, up_limit, shift, [=](auto act) FAST {
        each<T>(n, [=](std::size_t i) FAST {
            const Pair<T> both = act.gradients(g[i], u[i], p[i], gy[i]);
            gg[i] = both.first;
            gu[i] = both.second;
        });
    });
}

template <class T> void gpt_oss_packed_forward(std::size_t n, T alpha, T limit, const T* x, T* p, T* y) {
    with_swiglu<T>(alpha, limit, limit, 1, [=](auto act) FAST {
        each<T>(n, [=](std::size_t i) FAST {
            const Pair<T> both = act.value_and_p(x[2 * i], x[2 * i + 1]);
            y[i] = both.first;
            p[i] = both.second;
        });
    });
}
template <class T>
void gpt_oss_packed_gradient(std::size_t n, T alpha, T limit, const T* x, const T* p, const T* gy, T* gx) {
    with_swiglu<T>(alpha, limit, limit, 1, [=](auto act) FAST {
        each<T>(n, [=](std::size_t i) FAST {
            const Pair<T> both = act.gradients(x[2 * i], x[2 * i + 1], p[i], gy[i]);
            gx[2 * i] = both.first;
            gx[2 * i + 1] = both.second;
        });
    });
}

// y = φ(g) u:  ḡ = ȳ u φ′(g),  ū = ȳ φ(g).
template <class F, class T> FAST inline void gated(std::size_t n, const T* g, const T* u, T* y) {
    each<T>(n, [=](std::size_t i) FAST { y[i] = F::y(g[i]) * u[i]; });
}
template <class F, class T>
FAST inline void gated_gradients(std::size_t n, const T* g, const T* u, const T* gy, T* gg, T* gu) {
    each<T>(n, [=](std::size_t i) FAST {
        const T f = F::y(g[i]), of_g = F::gx(g[i], f, gy[i] * u[i]), of_u = gy[i] * f;
        gg[i] = is_zero(gy[i]) ? T(0) : of_g;
        gu[i] = is_zero(gy[i]) ? T(0) : of_u;
    });
}

#define CHALKGRAD_GATED(op, F)                                                                                  \
    template <class T> void op##_forward(std::size_t n, const T* g, const T* u, T* y) { gated<F>(n, g, u, y); } \
    template <class T> void op##_gradients(std::size_t n, const T* g, const T* u, const T* gy, T* gg, T* gu) {  \
        gated_gradients<F>(n, g, u, gy, gg, gu);                                                                \
    }
CHALKGRAD_GATED(reglu, Relu)
CHALKGRAD_GATED(geglu, GeluErf)

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(reglu_forward)
CHALKGRAD_KERNEL(reglu_gradients)
CHALKGRAD_KERNEL(geglu_forward)
CHALKGRAD_KERNEL(geglu_gradients)
CHALKGRAD_KERNEL(swiglu_act_forward)
CHALKGRAD_KERNEL(swiglu_act_gradients)
CHALKGRAD_KERNEL(gpt_oss_packed_forward)
CHALKGRAD_KERNEL(gpt_oss_packed_gradient)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/catalog/checks.hpp>
#include <chalkgrad/ops/catalog/identities.hpp>
#include <chalkgrad/ops/catalog/sample_points.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/clamp.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>
#include <chalkgrad/ops/shape/slice.hpp>

namespace chalkgrad {
namespace {

template <class T> T limit_or_inf(const std::optional<double>& limit) { return T(limit.value_or(HUGE_VAL)); }

void require_limit(const char* op, const char* name, const std::optional<double>& limit) {
    if (limit && !(*limit > 0 && std::isfinite(*limit)))
        throw Error(
            fmt::format("{}: {} is {}; it must be finite and positive, or absent for no clamp", op, name, *limit));
}

template <class T>
void swiglu_sides(
    T g, T u, const std::optional<double>& gate_limit, const std::optional<double>& up_limit, KinkSides& out) {
    if (gate_limit) out.branch(0, g, T(*gate_limit));
    if (up_limit) {
        out.branch(1, u, T(*up_limit));
        out.branch(2, u, T(-*up_limit));
    }
}

struct SwigluAct {
    static constexpr const char* name = "swiglu_act";
    static constexpr const char* inputs[] = {"g", "u"};
    static constexpr Role role = Role::gate;
    SwigluOptions options;

    Shape shape(Shapes in) const {
        require_same_shape(name, "g", in[0], "u", in[1]);
        require_finite(name, "alpha", options.alpha);
        require_finite(name, "shift_up", options.shift_up);
        require_limit(name, "gate_limit", options.gate_limit);
        require_limit(name, "up_limit", options.up_limit);
        return in[0];
    }
    std::size_t saved(Shapes in) const { return in[0].size(); } // p
    void attributes(Attributes& out) const {
        out.set("alpha", options.alpha);
        out.set("gate_limit", options.gate_limit ? Attribute(*options.gate_limit) : Attribute());
        out.set("up_limit", options.up_limit ? Attribute(*options.up_limit) : Attribute());
        out.set("shift_up", options.shift_up);
    }
    double length_scale(Ins<double>) const { return 1 / std::max(1.0, std::abs(options.alpha)); }
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        if (!options.gate_limit && !options.up_limit) return;
        for (std::size_t i = 0; i < in[0].size(); ++i)
            swiglu_sides(in[0][i], in[1][i], options.gate_limit, options.up_limit, out);
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* p) const {
        kernel::swiglu_act_forward<T>(y.size(), T(options.alpha), limit_or_inf<T>(options.gate_limit),
            limit_or_inf<T>(options.up_limit), T(options.shift_up), in[0].data, in[1].data, p, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* p, Outs<T> gx) const {
        Scratch<T> unwanted(gx[0] && gx[1] ? 0 : y.size());
        kernel::swiglu_act_gradients<T>(y.size(), T(options.alpha), limit_or_inf<T>(options.gate_limit),
            limit_or_inf<T>(options.up_limit), T(options.shift_up), in[0].data, in[1].data, p, gy.data,
            gx[0] ? gx[0].data : unwanted.data(), gx[1] ? gx[1].data : unwanted.data());
    }
};

struct GptOssPacked {
    static constexpr const char* name = "gpt_oss_packed";
    static constexpr const char* inputs[] = {"p"};
    static constexpr Role role = Role::gate;
    double alpha, limit;

    Shape shape(Shapes in) const {
        const Shape& p = in[0];
        if (p.rank() == 0 || p.last() % 2 != 0)
            throw Error(fmt::format(
                "{}: p has shape {}; its last axis holds gate and up in turn and must be even", name, to_string(p)));
        require_finite(name, "alpha", alpha);
        require_limit(name, "limit", limit);
        return p.with(p.rank() - 1, p.last() / 2);
    }
    std::size_t saved(Shapes in) const { return in[0].size() / 2; } // the smaller sigmas
    void attributes(Attributes& out) const {
        out.set("alpha", alpha);
        out.set("limit", limit);
    }
    double length_scale(Ins<double>) const { return 1 / std::max(1.0, std::abs(alpha)); }
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        for (std::size_t i = 0; i + 1 < in[0].size(); i += 2) swiglu_sides(in[0][i], in[0][i + 1], limit, limit, out);
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* sigma) const {
        kernel::gpt_oss_packed_forward<T>(y.size(), T(alpha), T(limit), in[0].data, sigma, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* sigma, Outs<T> gx) const {
        if (gx[0])
            kernel::gpt_oss_packed_gradient<T>(y.size(), T(alpha), T(limit), in[0].data, sigma, gy.data, gx[0].data);
    }
};

/// y = φ(g) u, by the kernels of op.
#define CHALKGRAD_GATED_RULE(Rule, op, ...)                                                                            \
    struct Rule {                                                                                                      \
        static constexpr const char* name = #op;                                                                       \
        static constexpr const char* inputs[] = {"g", "u"};                                                            \
        static constexpr Role role = Role::gate;                                                                       \
        Shape shape(Shapes in) const {                                                                                 \
            require_same_shape(name, "g", in[0], "u", in[1]);                                                          \
            return in[0];                                                                                              \
        }                                                                                                              \
        template <class T> void forward(Ins<T> in, Out<T> y, T*) const {                                               \
            kernel::op##_forward<T>(y.size(), in[0].data, in[1].data, y.data);                                         \
        }                                                                                                              \
        template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {                        \
            Scratch<T> unwanted(gx[0] && gx[1] ? 0 : y.size());                                                        \
            kernel::op##_gradients<T>(y.size(), in[0].data, in[1].data, gy.data, gx[0] ? gx[0].data : unwanted.data(), \
                gx[1] ? gx[1].data : unwanted.data());                                                                 \
        }                                                                                                              \
        __VA_ARGS__                                                                                                    \
    };
CHALKGRAD_GATED_RULE(
    Reglu, reglu, template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        for (std::size_t i = 0; i < in[0].size(); ++i) out.branch(0, in[0][i], T(0));
    })
CHALKGRAD_GATED_RULE(Geglu, geglu)

} // namespace

template <class T> Var<T> reglu(const Var<T>& g, const Var<T>& u) { return apply(Reglu{}, g, u); }
template <class T> Var<T> geglu(const Var<T>& g, const Var<T>& u) { return apply(Geglu{}, g, u); }
template <class T> Var<T> swiglu_act(const Var<T>& g, const Var<T>& u, const SwigluOptions& options) {
    return apply(SwigluAct{options}, g, u);
}
template <class T> Var<T> gpt_oss_packed(const Var<T>& p, double alpha, double limit) {
    return apply(GptOssPacked{alpha, limit}, p);
}

template <class T> Var<T> swiglu_act_composed(const Var<T>& g, const Var<T>& u, const SwigluOptions& options) {
    const auto& [alpha, gate_limit, up_limit, shift] = options;
    const Var<T> gate = gate_limit ? clamp(g, {}, gate_limit) : g;
    const Var<T> up = up_limit ? clamp(u, -*up_limit, up_limit) : u;
    return gate * sigmoid(alpha * gate) * (up + shift);
}
template <class T> Var<T> gpt_oss_packed_composed(const Var<T>& p, double alpha, double limit) {
    return swiglu_act_composed(slice(p, "..., ::2"), slice(p, "..., 1::2"), {alpha, limit, limit, 1});
}
template <class T> Var<T> reglu_composed(const Var<T>& g, const Var<T>& u) { return relu(g) * u; }
template <class T> Var<T> geglu_composed(const Var<T>& g, const Var<T>& u) { return gelu_erf(g) * u; }

#define CHALKGRAD_INSTANTIATE(T)                                                             \
    template Var<T> swiglu_act(const Var<T>&, const Var<T>&, const SwigluOptions&);          \
    template Var<T> gpt_oss_packed(const Var<T>&, double, double);                           \
    template Var<T> reglu(const Var<T>&, const Var<T>&);                                     \
    template Var<T> geglu(const Var<T>&, const Var<T>&);                                     \
    template Var<T> swiglu_act_composed(const Var<T>&, const Var<T>&, const SwigluOptions&); \
    template Var<T> gpt_oss_packed_composed(const Var<T>&, double, double);                  \
    template Var<T> reglu_composed(const Var<T>&, const Var<T>&);                            \
    template Var<T> geglu_composed(const Var<T>&, const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

namespace {

/// Numbers on all sides of the limits ±2 and none near them: |x| is in (0, 1.8) or (2.2, 3.2).
Array<double> around_limits(Generator& rng, const Shape& shape) {
    Array<double> x = rng.uniform(-2.8, 2.8, shape);
    for (double& v : x)
        if (std::abs(v) > 1.8) v += v < 0 ? -0.4 : 0.4;
    return x;
}

std::vector<NamedArray> gate_and_up(Generator& rng, const Shape& shape) {
    return {{"g", around_limits(rng, shape)}, {"u", around_limits(rng, shape)}};
}

/// For gates whose only kink is at 0.
std::vector<Sample> gated_samples(Generator& rng) {
    const auto pair = [&](const Shape& shape) {
        return std::vector<NamedArray>{
            {"g", away_from(0, 0.05, rng.standard_normal(shape))}, {"u", rng.standard_normal(shape)}};
    };
    return {{"rows", pair({3, 5})}, {"eleven", pair({11})}, {"one", pair({1})}, {"number", pair({})}};
}

} // namespace

namespace {

template <class C> SwigluOptions swiglu_options(C& c) {
    c.ignore({"seed"});
    return {.alpha = c.number("alpha", 1),
        .gate_limit = c.limit("gate_limit"),
        .up_limit = c.limit("up_limit"),
        .shift_up = c.number("shift_up", 0)};
}

} // namespace

CatalogEntry swiglu_act_entry() {
    return entry(
        "swiglu_act", "g' sigmoid(alpha g') (u' + shift_up); g' = min(g, gate_limit), u' = clip(u, +-up_limit)", "§9",
        [](auto& c) { return swiglu_act(c.in("g"), c.in("u"), swiglu_options(c)); },
        [](Generator& rng) {
            const auto pair = [&](const Shape& shape) { return gate_and_up(rng, shape); };
            return std::vector<Sample>{{"plain", pair({3, 5}), {}, {{"alpha", 1.0}}},
                {"gpt_oss", pair({4, 11}), {},
                    {{"alpha", 1.702}, {"gate_limit", 2.0}, {"up_limit", 2.0}, {"shift_up", 1.0}}},
                {"gate_clamp", pair({2, 3}), {}, {{"alpha", 0.7}, {"gate_limit", 2.0}, {"shift_up", -0.5}}},
                {"up_clamp", pair({7}), {}, {{"alpha", -1.3}, {"up_limit", 2.0}}},
                {"number", pair({}), {}, {{"alpha", 1.702}, {"shift_up", 1.0}}}};
        },
        [](auto& c) { return swiglu_act_composed(c.in("g"), c.in("u"), swiglu_options(c)); })
        .with_identities(diagonal_jacobian({"g", "u"}));
}
CatalogEntry gpt_oss_packed_entry() {
    return entry(
        "gpt_oss_packed", "swiglu_act(p[..., 0::2], p[..., 1::2]; alpha, limit, limit, 1)", "§15",
        [](auto& c) {
            c.ignore({"layout"});
            return gpt_oss_packed(c.in("p"), c.number("alpha", 1.702), c.number("limit", 7));
        },
        [](Generator& rng) {
            return std::vector<Sample>{
                {"rows", {{"p", around_limits(rng, {3, 18})}}, {}, {{"alpha", 1.702}, {"limit", 2.0}}},
                {"width_one", {{"p", around_limits(rng, {2, 3, 2})}}, {}, {{"alpha", 1.0}, {"limit", 2.0}}},
                {"inside", {{"p", around_limits(rng, {22})}}, {}, {{"alpha", 1.702}, {"limit", 7.0}}}};
        },
        [](auto& c) {
            c.ignore({"layout"});
            return gpt_oss_packed_composed(c.in("p"), c.number("alpha", 1.702), c.number("limit", 7));
        })
        .with_identities([](const Sample&) {
            return std::vector<Identity>{block_diagonal(
                "0 between pairs", "p", [](std::size_t i) { return i; }, [](std::size_t j) { return j / 2; })};
        });
}
CatalogEntry reglu_entry() {
    return entry(
        "reglu", "relu(g) u", "§8", [](auto& c) { return reglu(c.in("g"), c.in("u")); }, gated_samples,
        [](auto& c) { return reglu_composed(c.in("g"), c.in("u")); })
        .with_identities([](const Sample&) {
            std::vector<Identity> known = element_by_element({"g", "u"});
            known.push_back(homogeneous("g", 1));
            known.push_back(homogeneous("u", 1));
            return known;
        });
}
CatalogEntry geglu_entry() {
    return entry(
        "geglu", "g Phi(g) u", "§8", [](auto& c) { return geglu(c.in("g"), c.in("u")); }, gated_samples,
        [](auto& c) { return geglu_composed(c.in("g"), c.in("u")); })
        .with_identities([](const Sample&) {
            std::vector<Identity> known = element_by_element({"g", "u"});
            known.push_back(homogeneous("u", 1));
            return known;
        });
}

} // namespace chalkgrad
#endif
