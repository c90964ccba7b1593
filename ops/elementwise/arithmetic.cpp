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

static Known moved_by(double a, double b) {
    return [=](const Sample& s) { return std::vector<Identity>{moves_along("a", s, a), moves_along("b", s, b)}; };
}
CHALKGRAD_BINARY_OP(add, AddRule, "a + b", "NumPy broadcasting", {}, moved_by(1, 1))
CHALKGRAD_BINARY_OP(sub, SubRule, "a - b", "NumPy broadcasting", {}, moved_by(1, -1))
CHALKGRAD_BINARY_OP(mul, MulRule, "a b", "NumPy broadcasting", {}, homogeneous_in({{"a", 1}, {"b", 1}}))
CHALKGRAD_BINARY_OP(div, DivRule, "a / b", "NumPy broadcasting", {.gap = 0.5}, homogeneous_in({{"a", 1}, {"b", -1}}))

#undef CHALKGRAD_FUNCTION
#undef CHALKGRAD_ENTRY

} // namespace chalkgrad
#endif
