// reglu:  y = relu(g) u
#include <chalkgrad/ops/gate/gated_kernels.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

CHALKGRAD_GATED(reglu, Relu)

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(reglu_forward)
CHALKGRAD_KERNEL(reglu_gradients)

#ifndef CHALKGRAD_KERNELS_ONLY

namespace chalkgrad {
namespace {

CHALKGRAD_GATED_RULE(
    Reglu, reglu, template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        for (std::size_t i = 0; i < in[0].size(); ++i) out.branch(0, in[0][i], T(0));
    })

} // namespace

template <class T> Var<T> reglu(const Var<T>& g, const Var<T>& u) { return apply(Reglu{}, g, u); }
template <class T> Var<T> reglu_composed(const Var<T>& g, const Var<T>& u) { return relu(g) * u; }

#define CHALKGRAD_INSTANTIATE(T)                         \
    template Var<T> reglu(const Var<T>&, const Var<T>&); \
    template Var<T> reglu_composed(const Var<T>&, const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

CatalogEntry reglu_entry() {
    return gated_entry(
        "reglu", "relu(g) u", plain<Reglu>, {"g", "u"}, [](auto& c) { return reglu_composed(c.in("g"), c.in("u")); });
}

} // namespace chalkgrad
#endif
