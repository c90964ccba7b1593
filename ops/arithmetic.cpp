// add, sub, mul, div. Each is three lines of formulas; the gradient of a broadcast operand is summed over what it was
// broadcast along:  ā = unb(ȳ ∂y/∂a),  b̄ = unb(ȳ ∂y/∂b).
#include <chalkgrad/autograd/kernel.hpp>

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
// b̄ = −ȳ y/b uses y: a/b² would overflow sooner. A cotangent of exactly 0 gives 0, also where b = 0.
struct Div {
    template <class T> static FAST T y(T a, T b) { return a / b; }
    template <class T> static FAST T ga(T, T b, T, T gy) { return gy == 0 ? T(0) : gy / b; }
    template <class T> static FAST T gb(T, T b, T y, T gy) { return gy == 0 ? T(0) : -(gy / b) * y; }
};

// One row of a result, and one row of a gradient: assigned, added to a row, or summed into one number.
template <class F, class T>
FAST inline void value_row(std::size_t n, const T* a, const T* b, T* y) {
    each<T>(n, [=](std::size_t i) FAST { y[i] = F::y(a[i], b[i]); });
}
template <class T, class G>
FAST inline void gradient_row(std::size_t n, int how, T* g, G term) {
    if (how == 0)
        each<T>(n, [=](std::size_t i) FAST { g[i] = term(i); });
    else if (how == 1)
        each<T>(n, [=](std::size_t i) FAST { g[i] += term(i); });
    else
        *g += sum<T>(n, term);
}

#define CHALKGRAD_BINARY(name, F)                                                                                                       \
    template <class T>                                                                                                                  \
    void name##_row(std::size_t n, const T* a, const T* b, T* y) {                                                                      \
        value_row<F>(n, a, b, y);                                                                                                       \
    }                                                                                                                                   \
    template <class T>                                                                                                                  \
    void name##_row_ga(std::size_t n, const T* a, const T* b, const T* y, const T* gy, int how, T* g) {                                 \
        gradient_row<T>(n, how, g, [=](std::size_t i) FAST { return F::ga(a[i], b[i], y[i], gy[i]); });                                 \
    }                                                                                                                                   \
    template <class T>                                                                                                                  \
    void name##_row_gb(std::size_t n, const T* a, const T* b, const T* y, const T* gy, int how, T* g) {                                 \
        gradient_row<T>(n, how, g, [=](std::size_t i) FAST { return F::gb(a[i], b[i], y[i], gy[i]); });                                 \
    }
CHALKGRAD_BINARY(add, Add)
CHALKGRAD_BINARY(sub, Sub)
CHALKGRAD_BINARY(mul, Mul)
CHALKGRAD_BINARY(div, Div)

} // namespace chalkgrad::CHALKGRAD_ISA

#define CHALKGRAD_BINARY_KERNELS(name) CHALKGRAD_KERNEL(name##_row) CHALKGRAD_KERNEL(name##_row_ga) CHALKGRAD_KERNEL(name##_row_gb)
CHALKGRAD_BINARY_KERNELS(add)
CHALKGRAD_BINARY_KERNELS(sub)
CHALKGRAD_BINARY_KERNELS(mul)
CHALKGRAD_BINARY_KERNELS(div)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/apply.hpp>
#include <chalkgrad/ops/arithmetic.hpp>
#include <chalkgrad/ops/broadcast.hpp>
#include <chalkgrad/ops/catalog.hpp>

namespace chalkgrad {
namespace {

/// How one operand's gradient takes a row: see gradient_row.
enum How { assign, add_to_row, sum_to_number };

template <class T, class RowKernel>
void broadcast_forward(In<T> a, In<T> b, Out<T> y, RowKernel row) {
    const BroadcastRows rows(*a.shape, *b.shape, *y.shape);
    T a_buffer[BroadcastRows::longest], b_buffer[BroadcastRows::longest];
    rows.each_row([&](const BroadcastRows::Row& r) {
        row(r.n, unit_row(a.data + r.a, rows.a_is_number(), r.n, a_buffer), unit_row(b.data + r.b, rows.b_is_number(), r.n, b_buffer),
            y.data + r.y);
    });
}

template <class T, class KernelA, class KernelB>
void broadcast_vjp(In<T> a, In<T> b, In<T> y, In<T> gy, Out<T> ga, Out<T> gb, KernelA row_ga, KernelB row_gb) {
    const BroadcastRows rows(*a.shape, *b.shape, *y.shape);
    const auto how = [&](const Shape& x, bool is_number) { return x.size() == y.size() ? assign : is_number ? sum_to_number : add_to_row; };
    const How how_a = how(*a.shape, rows.a_is_number()), how_b = how(*b.shape, rows.b_is_number());
    if (ga && how_a != assign) std::fill_n(ga.data, ga.size(), T(0));
    if (gb && how_b != assign) std::fill_n(gb.data, gb.size(), T(0));
    T a_buffer[BroadcastRows::longest], b_buffer[BroadcastRows::longest];
    rows.each_row([&](const BroadcastRows::Row& r) {
        const T* a_row = unit_row(a.data + r.a, rows.a_is_number(), r.n, a_buffer);
        const T* b_row = unit_row(b.data + r.b, rows.b_is_number(), r.n, b_buffer);
        if (ga) row_ga(r.n, a_row, b_row, y.data + r.y, gy.data + r.y, how_a, ga.data + r.a);
        if (gb) row_gb(r.n, a_row, b_row, y.data + r.y, gy.data + r.y, how_b, gb.data + r.b);
    });
}

// A single number takes the formula itself, without rows: scalar programs record one line per operation.
#define CHALKGRAD_BINARY_RULE(Rule, op, F, its_role)                                                                                    \
    struct Rule {                                                                                                                       \
        static constexpr const char* name = #op;                                                                                        \
        static constexpr const char* inputs[] = {"a", "b"};                                                                             \
        static constexpr Role role = its_role;                                                                                          \
        Shape shape(Shapes in) const { return broadcast(name, in[0], in[1]); }                                                          \
        template <class T>                                                                                                              \
        void forward(Ins<T> in, Out<T> y, T*) const {                                                                                   \
            if (y.size() == 1)                                                                                                          \
                y[0] = base::F::y(in[0][0], in[1][0]);                                                                                  \
            else                                                                                                                        \
                broadcast_forward(in[0], in[1], y, kernel::op##_row<T>);                                                                \
        }                                                                                                                               \
        template <class T>                                                                                                              \
        void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {                                                            \
            if (y.size() == 1) {                                                                                                        \
                if (gx[0]) gx[0][0] = base::F::ga(in[0][0], in[1][0], y[0], gy[0]);                                                     \
                if (gx[1]) gx[1][0] = base::F::gb(in[0][0], in[1][0], y[0], gy[0]);                                                     \
            } else {                                                                                                                    \
                broadcast_vjp(in[0], in[1], y, gy, gx[0], gx[1], kernel::op##_row_ga<T>, kernel::op##_row_gb<T>);                       \
            }                                                                                                                           \
        }                                                                                                                               \
    };                                                                                                                                  \
    }                                                                                                                                   \
    template <class T>                                                                                                                  \
    Var<T> op(const Var<T>& a, const Var<T>& b) {                                                                                       \
        return apply(Rule{}, a, b);                                                                                                     \
    }                                                                                                                                   \
    namespace {
CHALKGRAD_BINARY_RULE(AddRule, add, Add, Role::add)
CHALKGRAD_BINARY_RULE(SubRule, sub, Sub, Role::none)
CHALKGRAD_BINARY_RULE(MulRule, mul, Mul, Role::none)
CHALKGRAD_BINARY_RULE(DivRule, div, Div, Role::none)

/// Equal shapes, and every way of broadcasting: a row, a column, both at once, a single number.
std::vector<Sample> broadcast_samples(Generator& rng, bool away_from_zero) {
    const auto draw = [&](const Shape& shape) { return rng.standard_normal(shape); };
    const auto divisor = [&](const Shape& shape) {
        Array<double> b = rng.standard_normal(shape);
        if (away_from_zero)
            for (double& x : b) x += x < 0 ? -0.5 : 0.5;
        return b;
    };
    return {{"same_shape", {{"a", draw({3, 5})}, {"b", divisor({3, 5})}}},
            {"row", {{"a", draw({2, 3, 5})}, {"b", divisor({5})}}},
            {"column", {{"a", draw({3, 1})}, {"b", divisor({3, 5})}}},
            {"both", {{"a", draw({4, 1, 3})}, {"b", divisor({2, 1})}}},
            {"number", {{"a", draw({2, 3})}, {"b", divisor({})}}}};
}

} // namespace

#define CHALKGRAD_INSTANTIATE(T)                                                                                                        \
    template Var<T> add(const Var<T>&, const Var<T>&);                                                                                  \
    template Var<T> sub(const Var<T>&, const Var<T>&);                                                                                  \
    template Var<T> mul(const Var<T>&, const Var<T>&);                                                                                  \
    template Var<T> div(const Var<T>&, const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)

CatalogEntry add_entry() {
    return entry("add", "a + b", "NumPy broadcasting", [](auto& c) { return add(c.in("a"), c.in("b")); },
                 [](Generator& rng) { return broadcast_samples(rng, false); });
}
CatalogEntry sub_entry() {
    return entry("sub", "a - b", "NumPy broadcasting", [](auto& c) { return sub(c.in("a"), c.in("b")); },
                 [](Generator& rng) { return broadcast_samples(rng, false); });
}
CatalogEntry mul_entry() {
    return entry("mul", "a b", "NumPy broadcasting", [](auto& c) { return mul(c.in("a"), c.in("b")); },
                 [](Generator& rng) { return broadcast_samples(rng, false); });
}
CatalogEntry div_entry() {
    return entry("div", "a / b", "NumPy broadcasting", [](auto& c) { return div(c.in("a"), c.in("b")); },
                 [](Generator& rng) { return broadcast_samples(rng, true); });
}

} // namespace chalkgrad
#endif
