// reglu, geglu:  y = φ(g) u, φ one of the activation functions
#include <chalkgrad/ops/catalog/cotangent.hpp>
#include <chalkgrad/ops/elementwise/activation_functions.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class F, class T> FAST inline void gated(std::size_t n, const T* g, const T* u, T* y) {
    each<T>(n, [=](std::size_t i) FAST { y[i] = F::y(g[i]) * u[i]; });
}
// ḡ = ȳ u φ′(g),  ū = ȳ φ(g).
template <class F, class T>
FAST inline void gated_gradients(std::size_t n, const T* g, const T* u, const T* gy, T* gg, T* gu) {
    each<T>(n, [=](std::size_t i) FAST {
        const T f = F::y(g[i]), of_g = F::gx(g[i], f, gy[i] * u[i]);
        gg[i] = unless_zero(gy[i], of_g);
        gu[i] = unless_zero(gy[i], gy[i] * f);
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

CHALKGRAD_KERNEL(reglu_forward, reglu_gradients, geglu_forward, geglu_gradients)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/unary.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>

namespace chalkgrad {
namespace {

template <class F> struct Gated : OfFunction<F> {
    static constexpr bool by_relu = std::is_same_v<F, base::Relu>;
    static constexpr const char* name = by_relu ? "reglu" : "geglu";
    static constexpr const char* inputs[] = {"g", "u"};
    static constexpr Role role = Role::gate;

    Shape shape(Shapes in) const {
        require_same_shape(name, "g", in[0], "u", in[1]);
        return in[0];
    }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        (by_relu ? kernel::reglu_forward<T> : kernel::geglu_forward<T>)(y.size(), in[0].data, in[1].data, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        (by_relu ? kernel::reglu_gradients<T> : kernel::geglu_gradients<T>)(y.size(), in[0].data, in[1].data, gy.data,
            gx[0].data, gx[1].data);
    }
};
using Reglu = Gated<base::Relu>;
using Geglu = Gated<base::GeluErf>;

} // namespace

template <class T> Var<T> reglu(const Var<T>& g, const Var<T>& u) { return apply(Reglu{}, g, u); }
template <class T> Var<T> geglu(const Var<T>& g, const Var<T>& u) { return apply(Geglu{}, g, u); }
template <class T> Var<T> reglu_composed(const Var<T>& g, const Var<T>& u) { return relu(g) * u; }
template <class T> Var<T> geglu_composed(const Var<T>& g, const Var<T>& u) { return gelu_erf(g) * u; }

CHALKGRAD_INSTANCES(reglu, reglu_composed)
CHALKGRAD_INSTANCES(geglu, geglu_composed)

/// `linear_in`: the inputs in which it is homogeneous.
static CatalogEntry gated_entry(
    const char* name, const char* formula, PlainRule rule, std::vector<const char*> linear_in, Lines<double> composed) {
    return entry(name, formula, "§8", "g u", rule)
        .with_samples({"rows: g(3,5) u(3,5)", "eleven: g(11) u(11)", "one: g(1) u(1)", "number: g() u()"},
            [](Generator& rng, std::string_view input, const Shape& shape) {
                return away_from(0, input == "g" ? 0.05 : 0, rng.standard_normal(shape));
            })
        .with_twin(std::move(composed))
        .with_identities([=](const Sample&) {
            std::vector<Identity> known = element_by_element({"g", "u"});
            for (const char* input : linear_in) known.push_back(homogeneous(input, 1));
            return known;
        });
}
CatalogEntry reglu_entry() {
    return gated_entry(
        "reglu", "relu(g) u", plain<Reglu>, {"g", "u"}, [](auto& c) { return reglu_composed(c.in("g"), c.in("u")); });
}
CatalogEntry geglu_entry() {
    return gated_entry(
        "geglu", "g Phi(g) u", plain<Geglu>, {"u"}, [](auto& c) { return geglu_composed(c.in("g"), c.in("u")); });
}

} // namespace chalkgrad
#endif
