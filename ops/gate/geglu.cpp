// geglu:  y = gelu(g) u, the exact GELU
#include <chalkgrad/ops/gate/gated_kernels.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

CHALKGRAD_GATED(geglu, GeluErf)

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(geglu_forward)
CHALKGRAD_KERNEL(geglu_gradients)

#ifndef CHALKGRAD_KERNELS_ONLY

namespace chalkgrad {
namespace {

CHALKGRAD_GATED_RULE(Geglu, geglu)

} // namespace

template <class T> Var<T> geglu(const Var<T>& g, const Var<T>& u) { return apply(Geglu{}, g, u); }
template <class T> Var<T> geglu_composed(const Var<T>& g, const Var<T>& u) { return gelu_erf(g) * u; }

#define CHALKGRAD_INSTANTIATE(T)                         \
    template Var<T> geglu(const Var<T>&, const Var<T>&); \
    template Var<T> geglu_composed(const Var<T>&, const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

CatalogEntry geglu_entry() {
    return gated_entry(
        "geglu", "g Phi(g) u", plain<Geglu>, {"u"}, [](auto& c) { return geglu_composed(c.in("g"), c.in("u")); });
}

} // namespace chalkgrad
#endif
