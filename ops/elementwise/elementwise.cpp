// Functions of one element and their slopes:  x̄ = ȳ f′(x).  Where f′ is short in y = f(x), it is written in y.
#include <chalkgrad/ops/elementwise/activation_functions.hpp>
#include <chalkgrad/ops/elementwise/unary.hpp>

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
    template <class T> static FAST T y(T x) { return log(x); }
    template <class T> static FAST T gx(T x, T, T gy) { return gy / x; }
};
struct Log1p {
    template <class T> static FAST T y(T x) { return log1p(x); }
    template <class T> static FAST T gx(T x, T, T gy) { return gy / (1 + x); }
};
struct Sqrt {
    template <class T> static FAST T y(T x) { return sqrt(x); }
    template <class T> static FAST T gx(T, T y, T gy) { return gy / (2 * y); }
};
// −½ x^(−3/2) = −½ y³: no x needed. From the left, since y³ alone overflows sooner.
struct Rsqrt {
    template <class T> static FAST T y(T x) { return 1 / sqrt(x); }
    template <class T> static FAST T gx(T, T y, T gy) { return -(gy / 2) * y * y * y; }
};
struct Square {
    template <class T> static FAST T y(T x) { return x * x; }
    template <class T> static FAST T gx(T x, T, T gy) { return 2 * x * gy; }
};
struct Reciprocal {
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
    template <class T> static FAST T y(T x) { return abs(x); }
    template <class T> static FAST T gx(T x, T, T gy) { return x > 0 ? gy : x < 0 ? -gy : T(0); }
};

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_UNARY(neg, Neg)
CHALKGRAD_UNARY(exp, Exp)
CHALKGRAD_UNARY(log, Log)
CHALKGRAD_UNARY(log1p, Log1p)
CHALKGRAD_UNARY(sqrt, Sqrt)
CHALKGRAD_UNARY(rsqrt, Rsqrt)
CHALKGRAD_UNARY(square, Square)
CHALKGRAD_UNARY(reciprocal, Reciprocal)
CHALKGRAD_UNARY(tanh, Tanh)
CHALKGRAD_UNARY(erf, Erf)
CHALKGRAD_UNARY(abs, Abs)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/catalog/identities.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>

namespace chalkgrad {
namespace {

#define CHALKGRAD_POLE_AT(point) \
    double length_scale(Ins<double> in) const { return distance_from(point, in[0]); }
CHALKGRAD_UNARY_RULE(NegRule, neg, Neg, Role::none)
CHALKGRAD_UNARY_RULE(ExpRule, exp, Exp, Role::none)
CHALKGRAD_UNARY_RULE(LogRule, log, Log, Role::none, CHALKGRAD_POLE_AT(0))
CHALKGRAD_UNARY_RULE(Log1pRule, log1p, Log1p, Role::none, CHALKGRAD_POLE_AT(-1))
CHALKGRAD_UNARY_RULE(SqrtRule, sqrt, Sqrt, Role::none, CHALKGRAD_POLE_AT(0))
CHALKGRAD_UNARY_RULE(RsqrtRule, rsqrt, Rsqrt, Role::none, CHALKGRAD_POLE_AT(0))
CHALKGRAD_UNARY_RULE(SquareRule, square, Square, Role::none)
CHALKGRAD_UNARY_RULE(ReciprocalRule, reciprocal, Reciprocal, Role::none, CHALKGRAD_POLE_AT(0))
CHALKGRAD_UNARY_RULE(TanhRule, tanh, Tanh, Role::activation)
CHALKGRAD_UNARY_RULE(ErfRule, erf, Erf, Role::none)
CHALKGRAD_UNARY_RULE(
    AbsRule, abs, Abs, Role::none, template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        for (std::size_t i = 0; i < in[0].size(); ++i) out.branch(0, in[0][i], T(0));
    })
#undef CHALKGRAD_POLE_AT

} // namespace

CHALKGRAD_UNARY_OP(neg, NegRule, "-x", "element-wise", {}, diagonal_jacobian("x", 1))
CHALKGRAD_UNARY_OP(exp, ExpRule, "e^x", "element-wise", {-3, 3}, diagonal_jacobian({"x"}))
CHALKGRAD_UNARY_OP(log, LogRule, "log x", "element-wise", {0.2, 5}, diagonal_jacobian({"x"}))
CHALKGRAD_UNARY_OP(log1p, Log1pRule, "log(1 + x)", "element-wise", {-0.8, 3}, diagonal_jacobian({"x"}))
CHALKGRAD_UNARY_OP(sqrt, SqrtRule, "sqrt(x)", "element-wise", {0.2, 5}, diagonal_jacobian("x", 0.5))
CHALKGRAD_UNARY_OP(rsqrt, RsqrtRule, "1 / sqrt(x)", "element-wise", {0.2, 5}, diagonal_jacobian("x", -0.5))
CHALKGRAD_UNARY_OP(square, SquareRule, "x^2", "element-wise", {}, diagonal_jacobian("x", 2))
CHALKGRAD_UNARY_OP(reciprocal, ReciprocalRule, "1 / x", "element-wise", {-3, 3, 0.2}, diagonal_jacobian("x", -1))
CHALKGRAD_UNARY_OP(tanh, TanhRule, "tanh x", "§11", {-6, 6}, diagonal_jacobian({"x"}), {}, true)
CHALKGRAD_UNARY_OP(erf, ErfRule, "2/sqrt(pi) integral of e^(-t^2), 0..x", "§8", {-3, 3}, diagonal_jacobian({"x"}))
CHALKGRAD_UNARY_OP(abs, AbsRule, "|x|", "element-wise", {-3, 3, 0.2}, diagonal_jacobian("x", 1))

} // namespace chalkgrad
#endif
