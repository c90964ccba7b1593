// swiglu_act:  g′ = min(g, gate_limit),  u′ = clip(u, ±up_limit),  y = φ(g′) (u′ + shift),  φ(z) = z σ(αz)
#include <chalkgrad/ops/gate/swiglu_kernels.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T>
void swiglu_act_forward(std::size_t n, T alpha, T gate_limit, T up_limit, T shift, const T* g, const T* u, T* p, T* y) {
    swiglu<1>(n, alpha, gate_limit, up_limit, shift, g, u, p, y);
}
template <class T>
void swiglu_act_gradients(std::size_t n, T alpha, T gate_limit, T up_limit, T shift, const T* g, const T* u, const T* p,
    const T* gy, T* gg, T* gu) {
    swiglu_gradients<1>(n, alpha, gate_limit, up_limit, shift, g, u, p, gy, gg, gu);
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(swiglu_act_forward)
CHALKGRAD_KERNEL(swiglu_act_gradients)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/clamp.hpp>

namespace chalkgrad {
namespace {

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
        kernel::swiglu_act_gradients<T>(y.size(), T(options.alpha), limit_or_inf<T>(options.gate_limit),
            limit_or_inf<T>(options.up_limit), T(options.shift_up), in[0].data, in[1].data, p, gy.data, gx[0].data,
            gx[1].data);
    }
};

} // namespace

template <class T> Var<T> swiglu_act(const Var<T>& g, const Var<T>& u, const SwigluOptions& options) {
    return apply(SwigluAct{options}, g, u);
}

template <class T> Var<T> swiglu_act_composed(const Var<T>& g, const Var<T>& u, const SwigluOptions& options) {
    const auto& [alpha, gate_limit, up_limit, shift] = options;
    const Var<T> gate = gate_limit ? clamp(g, {}, gate_limit) : g;
    const Var<T> up = up_limit ? clamp(u, -*up_limit, up_limit) : u;
    return gate * sigmoid(alpha * gate) * (up + shift);
}

#define CHALKGRAD_INSTANTIATE(T)                                                    \
    template Var<T> swiglu_act(const Var<T>&, const Var<T>&, const SwigluOptions&); \
    template Var<T> swiglu_act_composed(const Var<T>&, const Var<T>&, const SwigluOptions&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

namespace {

SwigluOptions swiglu_options(Settings& c) {
    c.ignore({"seed"});
    return {.alpha = c.number("alpha", 1),
        .gate_limit = c.limit("gate_limit"),
        .up_limit = c.limit("up_limit"),
        .shift_up = c.number("shift_up", 0)};
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
            [](Generator& rng, std::string_view, const Shape& shape) { return around_limits(rng, shape); })
        .with_twin([](auto& c) { return swiglu_act_composed(c.in("g"), c.in("u"), swiglu_options(c)); })
        .with_identities(diagonal_jacobian({"g", "u"}));
}

} // namespace chalkgrad
#endif
