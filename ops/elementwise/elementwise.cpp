// Functions of one element and their slopes:  x̄ = ȳ f′(x).  Where f′ is short in y = f(x), it is written in y.
#include <chalkgrad/ops/elementwise/activation_functions.hpp>
#include <chalkgrad/ops/elementwise/unary.hpp>
#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#endif

namespace chalkgrad::CHALKGRAD_ISA {

struct Neg {
    template <class T> static FAST T y(T x) { return -x; }
    template <class T> static FAST T gx(T, T, T gy) { return -gy; }
};
struct Exp {
    template <class T> static FAST T y(T x) { return exp(x); }
    template <class T> static FAST T gx(T, T y, T gy) { return gy * y; }
};
struct Log {
    static constexpr double pole = 0;
    template <class T> static FAST T y(T x) { return log(x); }
    template <class T> static FAST T gx(T x, T, T gy) { return gy / x; }
};
struct Log1p {
    static constexpr double pole = -1;
    template <class T> static FAST T y(T x) { return log1p(x); }
    template <class T> static FAST T gx(T x, T, T gy) { return gy / (1 + x); }
};
struct Sqrt {
    static constexpr double pole = 0;
    template <class T> static FAST T y(T x) { return sqrt(x); }
    template <class T> static FAST T gx(T, T y, T gy) { return gy / (2 * y); }
};
// −½ x^(−3/2) = −½ y³: no x needed. From the left, since y³ alone overflows sooner.
struct Rsqrt {
    static constexpr double pole = 0;
    template <class T> static FAST T y(T x) { return 1 / sqrt(x); }
    template <class T> static FAST T gx(T, T y, T gy) { return -(gy / 2) * y * y * y; }
};
struct Square {
    template <class T> static FAST T y(T x) { return x * x; }
    template <class T> static FAST T gx(T x, T, T gy) { return 2 * x * gy; }
};
struct Reciprocal {
    static constexpr double pole = 0;
    template <class T> static FAST T y(T x) { return 1 / x; }
    template <class T> static FAST T gx(T, T y, T gy) { return -gy * y * y; }
};
struct Tanh {
    template <class T> static FAST T y(T x) { return tanh(x); }
    template <class T> static FAST T gx(T x, T, T gy) { return gy * sech_squared(x); }
};
struct Erf {
    template <class T> static FAST T y(T x) { return erf(x); }
    template <class T> static FAST T gx(T x, T, T gy) {
        return gy * (T(1.128379167095512573896158903121545172L) * exp(-x * x)); // 2/√π
    }
};
struct Abs {
    static constexpr double kink = 0;
    template <class T> static FAST T y(T x) { return abs(x); }
    template <class T> static FAST T gx(T x, T, T gy) { return x > 0 ? gy : x < 0 ? -gy : T(0); }
};

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_UNARY(neg, Neg, Role::none, "-x", "element-wise", {}, diagonal_jacobian("x", 1))
CHALKGRAD_UNARY(exp, Exp, Role::none, "e^x", "element-wise", {-3, 3}, diagonal_jacobian({"x"}))
CHALKGRAD_UNARY(log, Log, Role::none, "log x", "element-wise", {0.2, 5}, diagonal_jacobian({"x"}))
CHALKGRAD_UNARY(log1p, Log1p, Role::none, "log(1 + x)", "element-wise", {-0.8, 3}, diagonal_jacobian({"x"}))
CHALKGRAD_UNARY(sqrt, Sqrt, Role::none, "sqrt(x)", "element-wise", {0.2, 5}, diagonal_jacobian("x", 0.5))
CHALKGRAD_UNARY(rsqrt, Rsqrt, Role::none, "1 / sqrt(x)", "element-wise", {0.2, 5}, diagonal_jacobian("x", -0.5))
CHALKGRAD_UNARY(square, Square, Role::none, "x^2", "element-wise", {}, diagonal_jacobian("x", 2))
CHALKGRAD_UNARY(reciprocal, Reciprocal, Role::none, "1 / x", "element-wise", {-3, 3, 0.2}, diagonal_jacobian("x", -1))
CHALKGRAD_UNARY(tanh, Tanh, Role::activation, "tanh x", "§11", {-6, 6}, diagonal_jacobian({"x"}), {}, true)
CHALKGRAD_UNARY(erf, Erf, Role::none, "2/sqrt(pi) integral of e^(-t^2), 0..x", "§8", {-3, 3}, diagonal_jacobian({"x"}))
CHALKGRAD_UNARY(abs, Abs, Role::none, "|x|", "element-wise", {-3, 3, 0.2}, diagonal_jacobian("x", 1))
