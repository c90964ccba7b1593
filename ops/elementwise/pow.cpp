// pow:  y = x^p,   x̄ = ȳ p xᵖ⁻¹          p is a constant; p = 0 has slope 0, also at x = 0
#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/catalog/cotangent.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// Squares, by far the commonest powers, need no library call.
template <class T> void pow_forward(std::size_t n, T p, const T* x, T* y) {
    if (p == 2) each<T>(n, [=](std::size_t i) FAST { y[i] = x[i] * x[i]; });
    else
        for (std::size_t i = 0; i < n; ++i) y[i] = pow(x[i], p);
}

// Not p y/x: y has underflowed or overflowed where the slope need not.
template <class T> void pow_gx(std::size_t n, T p, const T* x, const T*, const T* gy, T* gx) {
    if (p == 2) each<T>(n, [=](std::size_t i) FAST { gx[i] = unless_zero(gy[i], 2 * x[i] * gy[i]); });
    else
        for (std::size_t i = 0; i < n; ++i) gx[i] = p == 0 || is_zero(gy[i]) ? T(0) : gy[i] * (p * pow(x[i], p - 1));
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(pow_forward, pow_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/elementwise/unary.hpp>

namespace chalkgrad {
namespace {

struct Pow {
    CHALKGRAD_RULE_OF_ONE(pow, "x", Role::none, T(exponent))
    double exponent;

    Shape shape(Shapes in) const {
        require_finite(name, "exponent", exponent);
        return in[0];
    }
    void attributes(Attributes& out) const { out.set("exponent", exponent); }
    double length_scale(Ins<double> in) const { return distance_from(0, in[0]); }
};

} // namespace

template <class T> Var<T> pow(const Var<T>& x, double exponent) { return apply(Pow{exponent}, x); }

template <class T> using Power = Var<T>(const Var<T>&, double);
CHALKGRAD_INSTANCES_OF(pow, Power)

CatalogEntry pow_entry() {
    return entry(
        "pow", "x^exponent", "element-wise", "x", [](Settings& c) { return rule_of(Pow{c.number("exponent")}); })
        .with_samples(
            // Whole exponents take negative numbers too; the slope at exponent 2 has a loop of its own.
            {"square: x(3,5) exponent=2", "cube: x(11) exponent=3", "inverse: x(3) exponent=-1",
                "fraction: x(2,4) exponent=0.7", "constant: x(1) exponent=0"},
            [](Generator& rng, std::string_view, const Shape& shape) {
                return shape == Shape{2, 4} ? rng.uniform(0.2, 5, shape)
                                            : away_from(0, 0.2, rng.standard_normal(shape));
            })
        .with_identities([](const Sample& s) { return diagonal_jacobian("x", s.number("exponent", 1))(s); });
}

} // namespace chalkgrad
#endif
