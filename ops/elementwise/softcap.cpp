// softcap:  y = c tanh(s/c),   s̄ = ȳ sech²(s/c)
#include <chalkgrad/ops/catalog/cotangent.hpp>
#include <chalkgrad/ops/elementwise/activation_functions.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T> void softcap_forward(std::size_t n, T cap, const T* s, T* y) {
    each<T>(n, [=](std::size_t i) FAST { y[i] = cap * tanh(s[i] / cap); });
}

// Not 1 − (y/c)², which cancels where the cap holds.
template <class T> void softcap_gx(std::size_t n, T cap, const T* s, const T*, const T* gy, T* gs) {
    each<T>(n, [=](std::size_t i) FAST { gs[i] = unless_zero(gy[i], gy[i] * sech_squared(s[i] / cap)); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(softcap_forward, softcap_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/softcap.hpp>
#include <chalkgrad/ops/elementwise/unary.hpp>

namespace chalkgrad {
namespace {

struct Softcap {
    CHALKGRAD_RULE_OF_ONE(softcap, "s", Role::attention, T(cap))
    double cap;

    Shape shape(Shapes in) const {
        require_positive(name, "cap", cap);
        return in[0];
    }
    void attributes(Attributes& out) const { out.set("cap", cap); }
    double length_scale(Ins<double>) const { return cap; }
};

} // namespace

template <class T> Var<T> softcap(const Var<T>& s, double cap) { return apply(Softcap{cap}, s); }

template <class T> Var<T> softcap_composed(const Var<T>& s, double cap) { return cap * tanh(s / cap); }

CHALKGRAD_INSTANCES(softcap, softcap_composed)

CatalogEntry softcap_entry() {
    return entry(
        "softcap", "cap tanh(s / cap)", "§7", "s", [](Settings& c) { return rule_of(Softcap{c.number("cap")}); })
        // Scores well beyond the cap: there a slope from 1 − (s/c)² shows.
        .with_samples({"one: s(1) cap=5", "row_of_3: s(3) cap=5", "rows: s(2,2,5) cap=5", "row_of_11: s(11) cap=5"},
            [](Generator& rng, std::string_view, const Shape& shape) { return rng.uniform(-12, 12, shape); })
        .with_twin([](auto& c) { return softcap_composed(c.in("s"), c.number("cap")); })
        .with_identities(diagonal_jacobian({"s"}));
}

} // namespace chalkgrad
#endif
