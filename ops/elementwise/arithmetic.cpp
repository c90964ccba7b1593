// add, sub, mul, div. Each is three lines of formulas; the gradient of a broadcast operand is summed over what it was
// broadcast along:  ā = unb(ȳ ∂y/∂a),  b̄ = unb(ȳ ∂y/∂b).
#include <chalkgrad/ops/elementwise/binary.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

struct Add {
    template <class T> static FAST T y(T a, T b) { return a + b; }
    template <class T> static FAST T ga(T, T, T, T gy) { return gy; }
    template <class T> static FAST T gb(T, T, T, T gy) { return gy; }
};
struct Sub {
    template <class T> static FAST T y(T a, T b) { return a - b; }
    template <class T> static FAST T ga(T, T, T, T gy) { return gy; }
    template <class T> static FAST T gb(T, T, T, T gy) { return -gy; }
};
struct Mul {
    template <class T> static FAST T y(T a, T b) { return a * b; }
    template <class T> static FAST T ga(T, T b, T, T gy) { return gy * b; }
    template <class T> static FAST T gb(T a, T, T, T gy) { return gy * a; }
};
// b̄ = −ȳ y/b uses y: a/b² would overflow sooner.
struct Div {
    template <class T> static FAST T y(T a, T b) { return a / b; }
    template <class T> static FAST T ga(T, T b, T, T gy) { return gy / b; }
    template <class T> static FAST T gb(T, T b, T y, T gy) { return -(gy / b) * y; }
};

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_BINARY(add, Add)
CHALKGRAD_BINARY(sub, Sub)
CHALKGRAD_BINARY(mul, Mul)
CHALKGRAD_BINARY(div, Div)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/catalog/identities.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace chalkgrad {
namespace {

CHALKGRAD_BINARY_RULE(AddRule, add, Add, Role::add)
CHALKGRAD_BINARY_RULE(SubRule, sub, Sub, Role::none)
CHALKGRAD_BINARY_RULE(MulRule, mul, Mul, Role::none)
CHALKGRAD_BINARY_RULE(
    DivRule, div, Div, Role::none, double length_scale(Ins<double> in) const { return distance_from(0, in[1]); })

} // namespace

#define CHALKGRAD_FUNCTION(op, Rule) \
    template <class T> Var<T> op(const Var<T>& a, const Var<T>& b) { return apply(Rule{}, a, b); }
CHALKGRAD_FUNCTION(add, AddRule)
CHALKGRAD_FUNCTION(sub, SubRule)
CHALKGRAD_FUNCTION(mul, MulRule)
CHALKGRAD_FUNCTION(div, DivRule)

#define CHALKGRAD_INSTANTIATE(T)                       \
    template Var<T> add(const Var<T>&, const Var<T>&); \
    template Var<T> sub(const Var<T>&, const Var<T>&); \
    template Var<T> mul(const Var<T>&, const Var<T>&); \
    template Var<T> div(const Var<T>&, const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

#define CHALKGRAD_ENTRY(op, Rule, formula, nearest, ...)                                                     \
    CatalogEntry op##_entry() {                                                                              \
        return binary_entry(#op, formula, "NumPy broadcasting", plain<Rule>, {.gap = nearest}, __VA_ARGS__); \
    }
CHALKGRAD_ENTRY(add, AddRule, "a + b", 0, [](const Sample& s) {
    return std::vector<Identity>{moves_along("a", s, 1), moves_along("b", s, 1)};
})
CHALKGRAD_ENTRY(sub, SubRule, "a - b", 0, [](const Sample& s) {
    return std::vector<Identity>{moves_along("a", s, 1), moves_along("b", s, -1)};
})
CHALKGRAD_ENTRY(mul, MulRule, "a b", 0, homogeneous_in({{"a", 1}, {"b", 1}}))
CHALKGRAD_ENTRY(div, DivRule, "a / b", 0.5, homogeneous_in({{"a", 1}, {"b", -1}}))
#undef CHALKGRAD_ENTRY

#undef CHALKGRAD_FUNCTION
#undef CHALKGRAD_ENTRY

} // namespace chalkgrad
#endif
