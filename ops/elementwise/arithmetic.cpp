// add, sub, mul, div. Each is three lines of formulas; the gradient of a broadcast operand is summed over what it was
// broadcast along:  ā = unb(ȳ ∂y/∂a),  b̄ = unb(ȳ ∂y/∂b).
#include <chalkgrad/ops/elementwise/binary.hpp>
#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace chalkgrad {

static Known moved_by(double a, double b) {
    return [=](const Sample& s) { return std::vector<Identity>{moves_along("a", s, a), moves_along("b", s, b)}; };
}

} // namespace chalkgrad
#endif

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
    static constexpr double pole_of_b = 0;
    template <class T> static FAST T y(T a, T b) { return a / b; }
    template <class T> static FAST T ga(T, T b, T, T gy) { return gy / b; }
    template <class T> static FAST T gb(T, T b, T y, T gy) { return -(gy / b) * y; }
};

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_BINARY(add, Add, Role::add, "a + b", "NumPy broadcasting", {}, moved_by(1, 1))
CHALKGRAD_BINARY(sub, Sub, Role::add, "a - b", "NumPy broadcasting", {}, moved_by(1, -1))
CHALKGRAD_BINARY(mul, Mul, Role::none, "a b", "NumPy broadcasting", {}, homogeneous_in({{"a", 1}, {"b", 1}}))
CHALKGRAD_BINARY(
    div, Div, Role::none, "a / b", "NumPy broadcasting", {.gap = 0.5}, homogeneous_in({{"a", 1}, {"b", -1}}))
