// What the functions of one element share: from one line their kernels, their rule, the function itself and its entry.
// Included by .cpp files of ops only.
//
// A function f is a struct:  static T y(T x),  static T gx(T x, T y, T gy) = gy f′(x).  It says what gradcheck must know:
//     static constexpr double pole = 0;   // the point at which f bends without bound
//     static constexpr double kink = 0;   // the point at which f has a kink
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/catalog/cotangent.hpp>

/// At global scope: the kernels op_forward and op_gx, the loops over a function's elements.
#define CHALKGRAD_UNARY_KERNELS(op, F)                                                                 \
    namespace chalkgrad::CHALKGRAD_ISA {                                                               \
    template <class T> void op##_forward(std::size_t n, const T* x, T* y) {                            \
        each<T>(n, [=](std::size_t i) FAST { y[i] = F::y(x[i]); });                                    \
    }                                                                                                  \
    template <class T> void op##_gx(std::size_t n, const T* x, const T* y, const T* gy, T* gx) {       \
        each<T>(n, [=](std::size_t i) FAST { gx[i] = unless_zero(gy[i], F::gx(x[i], y[i], gy[i])); }); \
    }                                                                                                  \
    }                                                                                                  \
    CHALKGRAD_KERNEL(op##_forward, op##_gx)

#ifdef CHALKGRAD_KERNELS_ONLY
#define CHALKGRAD_UNARY(op, F, ...) CHALKGRAD_UNARY_KERNELS(op, F)
#else
#include <chalkgrad/ops/catalog/op.hpp>

/// First in the struct of a rule of one input: what every such rule has. Its kernels are op_forward(n, constants…, x, y) and
/// op_gx(n, constants…, x, y, gy, gx).
#define CHALKGRAD_RULE_OF_ONE(op, input, its_role, ...)                                                   \
    static constexpr const char* name = #op;                                                              \
    static constexpr const char* inputs[] = {input};                                                      \
    static constexpr Role role = its_role;                                                                \
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {                                      \
        kernel::op##_forward<T>(y.size(), __VA_ARGS__ __VA_OPT__(, ) in[0].data, y.data);                 \
    }                                                                                                     \
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {               \
        kernel::op##_gx<T>(y.size(), __VA_ARGS__ __VA_OPT__(, ) in[0].data, y.data, gy.data, gx[0].data); \
    }

namespace chalkgrad {

template <class T> using OfOneVar = Var<T>(const Var<T>&);
/// What the rule of a function without constants takes from it.
template <class F> struct OfFunction {
    Shape shape(Shapes in) const { return in[0]; }
    double length_scale(Ins<double> in) const {
        if constexpr (requires { F::pole; }) return distance_from(F::pole, in[0]);
        else return 1;
    }
    template <class T> void kinks(Ins<T> in, KinkSides& out) const requires(requires { F::kink; }) {
        for (std::size_t i = 0; i < in[0].size(); ++i) out.branch(0, in[0][i], T(F::kink));
    }
};

} // namespace chalkgrad

/// At global scope: all of the op of a function without constants. Behind the role stand the arguments of unary_entry.
#define CHALKGRAD_UNARY(op, F, role, ...)                                               \
    CHALKGRAD_UNARY_KERNELS(op, F)                                                      \
    namespace chalkgrad {                                                               \
    namespace {                                                                         \
    struct F##Rule : OfFunction<base::F> {                                              \
        CHALKGRAD_RULE_OF_ONE(op, "x", role)                                            \
    };                                                                                  \
    }                                                                                   \
    template <class T> Var<T> op(const Var<T>& x) { return apply(F##Rule{}, x); }       \
    CHALKGRAD_INSTANCES_OF(op, OfOneVar)                                                \
    CatalogEntry op##_entry() { return unary_entry(#op, plain<F##Rule>, __VA_ARGS__); } \
    }
#endif
