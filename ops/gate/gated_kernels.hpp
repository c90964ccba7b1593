// What reglu and geglu share:  y = φ(g) u, their kernels, their rule, their samples. Included by their .cpp files only.
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/catalog/cotangent.hpp>
#include <chalkgrad/ops/elementwise/activation_functions.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// y = φ(g) u:  ḡ = ȳ u φ′(g),  ū = ȳ φ(g).
template <class F, class T> FAST inline void gated(std::size_t n, const T* g, const T* u, T* y) {
    each<T>(n, [=](std::size_t i) FAST { y[i] = F::y(g[i]) * u[i]; });
}
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

} // namespace chalkgrad::CHALKGRAD_ISA

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/ops/catalog/checks.hpp>
#include <chalkgrad/ops/catalog/sample_points.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>

/// y = φ(g) u, by the kernels of op.
#define CHALKGRAD_GATED_RULE(Rule, op, ...)                                                               \
    struct Rule {                                                                                         \
        static constexpr const char* name = #op;                                                          \
        static constexpr const char* inputs[] = {"g", "u"};                                               \
        static constexpr Role role = Role::gate;                                                          \
        Shape shape(Shapes in) const {                                                                    \
            require_same_shape(name, "g", in[0], "u", in[1]);                                             \
            return in[0];                                                                                 \
        }                                                                                                 \
        template <class T> void forward(Ins<T> in, Out<T> y, T*) const {                                  \
            kernel::op##_forward<T>(y.size(), in[0].data, in[1].data, y.data);                            \
        }                                                                                                 \
        template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {           \
            kernel::op##_gradients<T>(y.size(), in[0].data, in[1].data, gy.data, gx[0].data, gx[1].data); \
        }                                                                                                 \
        __VA_ARGS__                                                                                       \
    };

namespace chalkgrad {

/// For gates whose only kink is at 0; homogeneous in `linear_in`.
inline CatalogEntry gated_entry(const char* name, const char* formula, PlainRule rule,
    std::vector<const char*> linear_in, std::function<Var<double>(Arguments<double>&)> composed) {
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

} // namespace chalkgrad
#endif
