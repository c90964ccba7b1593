// softcap:  y = c tanh(s/c),   s̄ = ȳ sech²(s/c)
#include <chalkgrad/ops/catalog/cotangent.hpp>
#include <chalkgrad/ops/elementwise/activation_functions.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T> void softcap_forward(std::size_t n, T cap, const T* s, T* y) {
    each<T>(n, [=](std::size_t i) FAST { y[i] = cap * tanh(s[i] / cap); });
}

// Not 1 − (y/c)², which cancels where the cap holds.
template <class T> void softcap_gs(std::size_t n, T cap, const T* s, const T* gy, T* gs) {
    each<T>(n, [=](std::size_t i) FAST { gs[i] = unless_zero(gy[i], gy[i] * sech_squared(s[i] / cap)); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(softcap_forward)
CHALKGRAD_KERNEL(softcap_gs)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/catalog/checks.hpp>
#include <chalkgrad/ops/catalog/sample_points.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/softcap.hpp>
#include <chalkgrad/ops/elementwise/unary.hpp>

namespace chalkgrad {
namespace {

struct Softcap {
    static constexpr const char* name = "softcap";
    static constexpr const char* inputs[] = {"s"};
    static constexpr Role role = Role::attention;
    double cap;

    Shape shape(Shapes in) const {
        require_positive(name, "cap", cap);
        return in[0];
    }
    void attributes(Attributes& out) const { out.set("cap", cap); }
    double length_scale(Ins<double>) const { return cap; }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        kernel::softcap_forward<T>(y.size(), T(cap), in[0].data, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        kernel::softcap_gs<T>(y.size(), T(cap), in[0].data, gy.data, gx[0].data);
    }
};

} // namespace

template <class T> Var<T> softcap(const Var<T>& s, double cap) { return apply(Softcap{cap}, s); }

template <class T> Var<T> softcap_composed(const Var<T>& s, double cap) { return cap * tanh(s / cap); }

#define CHALKGRAD_INSTANTIATE(T)                    \
    template Var<T> softcap(const Var<T>&, double); \
    template Var<T> softcap_composed(const Var<T>&, double);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

CatalogEntry softcap_entry() {
    return entry(
        "softcap", "cap tanh(s / cap)", "§7", "s", [](Settings& c) { return rule_of(Softcap{c.number("cap")}); })
        .with_samples([](Generator& rng) { // scores well beyond the cap: there a slope from 1 − (s/c)² shows
            return unary_samples([&](const Shape& shape) { return rng.uniform(-12, 12, shape); }, "s", {{"cap", 5.0}});
        })
        .with_twin([](auto& c) { return softcap_composed(c.in("s"), c.number("cap")); })
        .with_identities(diagonal_jacobian({"s"}));
}

} // namespace chalkgrad
#endif
