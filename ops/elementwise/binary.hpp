// What the operations of two operands with NumPy's broadcasting share: from one line their kernels, their rule, the function
// itself and its entry. Included by .cpp files of ops only.
//
// An operation is a struct:  static T y(T a, T b),  static T ga(T a, T b, T y, T gy) = gy ∂y/∂a,  gb alike.  It says what
// gradcheck must know:
//     static constexpr double pole_of_b = 0;    // the b at which it bends without bound
//     static constexpr bool kink_in_tie = true; // a kink where a = b
// The gradient of a broadcast operand is summed over what it was broadcast along:  ā = unb(ȳ ∂y/∂a).
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/catalog/cotangent.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// One row of a gradient: assigned, or, of a broadcast operand, added to a row of totals or summed into one of them.
template <class T, class G>
FAST inline void gradient_row(std::size_t n, T* g, wide_t<T>* totals, bool is_number, G term) {
    if (totals == nullptr) each<T>(n, [=](std::size_t i) FAST { g[i] = term(i); });
    else if (is_number) *totals += sum<T>(n, term);
    else each<T>(n, [=](std::size_t i) FAST { totals[i] += term(i); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

/// At global scope: the kernels of one row, of the result and of either gradient.
#define CHALKGRAD_BINARY_KERNELS(op, F)                                             \
    namespace chalkgrad::CHALKGRAD_ISA {                                            \
    template <class T> void op##_row(std::size_t n, const T* a, const T* b, T* y) { \
        each<T>(n, [=](std::size_t i) FAST { y[i] = F::y(a[i], b[i]); });           \
    }                                                                               \
    CHALKGRAD_BINARY_GRADIENT(op, F, ga)                                            \
    CHALKGRAD_BINARY_GRADIENT(op, F, gb)                                            \
    }                                                                               \
    CHALKGRAD_KERNEL(op##_row, op##_row_ga, op##_row_gb)
#define CHALKGRAD_BINARY_GRADIENT(op, F, gradient)                                                                 \
    template <class T>                                                                                             \
    void op##_row_##gradient(                                                                                      \
        std::size_t n, const T* a, const T* b, const T* y, const T* gy, T* g, wide_t<T>* totals, bool is_number) { \
        gradient_row<T>(n, g, totals, is_number,                                                                   \
            [=](std::size_t i) FAST { return unless_zero(gy[i], F::gradient(a[i], b[i], y[i], gy[i])); });         \
    }

#ifdef CHALKGRAD_KERNELS_ONLY
#define CHALKGRAD_BINARY(op, F, ...) CHALKGRAD_BINARY_KERNELS(op, F)
#define CHALKGRAD_BINARY_FUNCTION(op, F, role) CHALKGRAD_BINARY_KERNELS(op, F)
#else
#include <chalkgrad/autograd/tape/totals.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/elementwise/broadcast.hpp>

namespace chalkgrad {

template <class T> using OfTwoVars = Var<T>(const Var<T>&, const Var<T>&);

template <class T, class RowKernel> void broadcast_forward(In<T> a, In<T> b, Out<T> y, RowKernel row) {
    const BroadcastRows rows(*a.shape, *b.shape, *y.shape);
    T a_buffer[BroadcastRows::longest], b_buffer[BroadcastRows::longest];
    rows.each_row([&](const BroadcastRows::Row& r) {
        row(r.n, unit_row(a.data + r.a, rows.a_is_number(), r.n, a_buffer),
            unit_row(b.data + r.b, rows.b_is_number(), r.n, b_buffer), y.data + r.y);
    });
}

template <class T, class KernelA, class KernelB>
void broadcast_vjp(In<T> a, In<T> b, In<T> y, In<T> gy, Out<T> ga, Out<T> gb, KernelA row_ga, KernelB row_gb) {
    const BroadcastRows rows(*a.shape, *b.shape, *y.shape);
    const bool sum_a = ga && ga.size() != y.size(), sum_b = gb && gb.size() != y.size();
    Totals<T> totals_a(sum_a ? ga : Out<T>()), totals_b(sum_b ? gb : Out<T>());
    T a_buffer[BroadcastRows::longest], b_buffer[BroadcastRows::longest];
    rows.each_row([&](const BroadcastRows::Row& r) {
        const T* a_row = unit_row(a.data + r.a, rows.a_is_number(), r.n, a_buffer);
        const T* b_row = unit_row(b.data + r.b, rows.b_is_number(), r.n, b_buffer);
        const T *const y_row = y.data + r.y, *const gy_row = gy.data + r.y;
        if (ga)
            row_ga(r.n, a_row, b_row, y_row, gy_row, ga.data + r.a, sum_a ? totals_a.data() + r.a : nullptr,
                rows.a_is_number());
        if (gb)
            row_gb(r.n, a_row, b_row, y_row, gy_row, gb.data + r.b, sum_b ? totals_b.data() + r.b : nullptr,
                rows.b_is_number());
    });
    totals_a.store();
    totals_b.store();
}

/// What the rule of an operation takes from it.
template <class F> struct OfOperation {
    double length_scale(Ins<double> in) const {
        if constexpr (requires { F::pole_of_b; }) return distance_from(F::pole_of_b, in[1]);
        else return 1;
    }
    /// The side of every pair that meets.
    template <class T> void kinks(Ins<T> in, KinkSides& out) const requires(requires { F::kink_in_tie; }) {
        const Shape &a = *in[0].shape, &b = *in[1].shape;
        const BroadcastRows rows(a, b, broadcast("", a, b));
        rows.each_row([&](const BroadcastRows::Row& r) {
            for (std::size_t i = 0; i < r.n; ++i)
                out.compare(in[0][r.a + (rows.a_is_number() ? 0 : i)], in[1][r.b + (rows.b_is_number() ? 0 : i)]);
        });
    }
};

} // namespace chalkgrad

/// At global scope: the kernels, the rule and the function op(a, b) of an operation. A single number takes the formula itself,
/// without rows: scalar programs record one line per operation.
#define CHALKGRAD_BINARY_FUNCTION(op, F, its_role)                                                                \
    CHALKGRAD_BINARY_KERNELS(op, F)                                                                               \
    namespace chalkgrad {                                                                                         \
    namespace {                                                                                                   \
    struct F##Rule : OfOperation<base::F> {                                                                       \
        static constexpr const char* name = #op;                                                                  \
        static constexpr const char* inputs[] = {"a", "b"};                                                       \
        static constexpr Role role = its_role;                                                                    \
        static constexpr bool skips_unwanted = true;                                                              \
        Shape shape(Shapes in) const { return broadcast(name, in[0], in[1]); }                                    \
        template <class T> void forward(Ins<T> in, Out<T> y, T*) const {                                          \
            if (y.size() == 1) y[0] = base::F::y(in[0][0], in[1][0]);                                             \
            else broadcast_forward(in[0], in[1], y, kernel::op##_row<T>);                                         \
        }                                                                                                         \
        template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {                   \
            using base::unless_zero;                                                                              \
            if (y.size() == 1) {                                                                                  \
                if (gx[0]) gx[0][0] = unless_zero(gy[0], base::F::ga(in[0][0], in[1][0], y[0], gy[0]));           \
                if (gx[1]) gx[1][0] = unless_zero(gy[0], base::F::gb(in[0][0], in[1][0], y[0], gy[0]));           \
            } else {                                                                                              \
                broadcast_vjp(in[0], in[1], y, gy, gx[0], gx[1], kernel::op##_row_ga<T>, kernel::op##_row_gb<T>); \
            }                                                                                                     \
        }                                                                                                         \
    };                                                                                                            \
    }                                                                                                             \
    template <class T> Var<T> op(const Var<T>& a, const Var<T>& b) { return apply(F##Rule{}, a, b); }             \
    CHALKGRAD_INSTANCES_OF(op, OfTwoVars)                                                                         \
    }
/// The same, and its entry; behind the role stand the arguments of binary_entry.
#define CHALKGRAD_BINARY(op, F, role, ...)                                               \
    CHALKGRAD_BINARY_FUNCTION(op, F, role)                                               \
    namespace chalkgrad {                                                                \
    CatalogEntry op##_entry() { return binary_entry(#op, plain<F##Rule>, __VA_ARGS__); } \
    }
#endif
