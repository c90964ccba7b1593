// Activation functions and their slopes:  x̄ = ȳ f′(x).  The formulas stand in activation_functions.hpp, beside the gates'.
#include <chalkgrad/ops/elementwise/activation_functions.hpp>
#include <chalkgrad/ops/elementwise/unary.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// Φ(x) is kept for the backward, which then needs one exponential in place of two: erfc costs more than any other function here.
template <class T> void gelu_erf_forward(std::size_t n, const T* x, T* cdf, T* y) {
    each<T>(n, [=](std::size_t i) FAST {
        const T z = held_below(x[i], T(200));
        cdf[i] = GeluErf::cdf(z);
        y[i] = z * cdf[i];
    });
}
template <class T> void gelu_erf_gx(std::size_t n, const T* x, const T* cdf, const T* gy, T* gx) {
    each<T>(n, [=](std::size_t i) FAST {
        const T z = held(x[i], T(200));
        gx[i] = unless_zero(gy[i], gy[i] * (cdf[i] + z * GeluErf::density(z)));
    });
}

template <class T> void quick_gelu_forward(std::size_t n, T alpha, const T* x, T* y) {
    each<T>(n, [=](std::size_t i) FAST { y[i] = Swish::y(x[i], alpha); });
}
template <class T> void quick_gelu_gx(std::size_t n, T alpha, const T* x, const T*, const T* gy, T* gx) {
    each<T>(n, [=](std::size_t i) FAST { gx[i] = unless_zero(gy[i], gy[i] * Swish::slope(x[i], alpha)); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(gelu_erf_forward, gelu_erf_gx, quick_gelu_forward, quick_gelu_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace chalkgrad {
namespace {

struct GeluErfRule {
    static constexpr const char* name = "gelu_erf";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::activation;

    Shape shape(Shapes in) const { return in[0]; }
    std::size_t saved(Shapes in) const { return in[0].size(); } // Φ(x)

    template <class T> void forward(Ins<T> in, Out<T> y, T* cdf) const {
        kernel::gelu_erf_forward<T>(y.size(), in[0].data, cdf, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* cdf, Outs<T> gx) const {
        kernel::gelu_erf_gx<T>(y.size(), in[0].data, cdf, gy.data, gx[0].data);
    }
};

struct QuickGelu {
    CHALKGRAD_RULE_OF_ONE(quick_gelu, "x", Role::activation, T(alpha))
    double alpha;

    Shape shape(Shapes in) const {
        require_positive(name, "alpha", alpha);
        return in[0];
    }
    void attributes(Attributes& out) const { out.set("alpha", alpha); }
    double length_scale(Ins<double>) const { return 1 / alpha; }
};

} // namespace

template <class T> Var<T> gelu_erf(const Var<T>& x) { return apply(GeluErfRule{}, x); }
template <class T> Var<T> quick_gelu(const Var<T>& x, double alpha) { return apply(QuickGelu{alpha}, x); }

template <class T> Var<T> sigmoid_composed(const Var<T>& x) {
    return exp(-logaddexp(x.tape().template number<T>(0), -x));
}
template <class T> Var<T> softplus_composed(const Var<T>& x) { return logaddexp(x.tape().template number<T>(0), x); }
template <class T> Var<T> silu_composed(const Var<T>& x) { return x * sigmoid(x); }
template <class T> Var<T> gelu_erf_composed(const Var<T>& x) {
    return 0.5 * x * (1 + erf(x / number_t<T>(1.4142135623730950488016887242097L)));
}
template <class T> Var<T> gelu_tanh_composed(const Var<T>& x) {
    const Var<T> u = number_t<T>(0.7978845608028653558798921198687L) * (x + number_t<T>(0.044715L) * (x * x * x));
    return 0.5 * x * (1 + tanh(u));
}
template <class T> Var<T> quick_gelu_composed(const Var<T>& x, double alpha) { return x * sigmoid(alpha * x); }

CHALKGRAD_INSTANCES(sigmoid_composed, softplus_composed, silu_composed, gelu_tanh_composed)
CHALKGRAD_INSTANCES(gelu_erf, gelu_erf_composed)
CHALKGRAD_INSTANCES(quick_gelu, quick_gelu_composed)

CatalogEntry quick_gelu_entry() {
    return entry("quick_gelu", "x sigmoid(alpha x)", "§8", "x",
        [](Settings& c) { return rule_of(QuickGelu{c.number("alpha", 1.702)}); })
        .with_samples({"one: x(1) alpha=1.702", "row_of_3: x(3) alpha=1.702", "rows: x(2,2,5) alpha=1.702",
                          "row_of_11: x(11) alpha=1.702"},
            [](Generator& rng, std::string_view, const Shape& shape) { return rng.uniform(-4, 4, shape); })
        .with_twin([](auto& c) { return quick_gelu_composed(c.in("x"), c.number("alpha", 1.702)); })
        .with_identities(diagonal_jacobian({"x"}));
}

// The entry of a smooth function: its samples go from a number to 6, where the twin still has its digits.
#define CHALKGRAD_SMOOTH(op, formula, section, low) \
    formula, section, {low, 6}, diagonal_jacobian({"x"}), [](auto& c) { return op##_composed(c.in("x")); }, true
CatalogEntry gelu_erf_entry() {
    return unary_entry("gelu_erf", plain<GeluErfRule>, CHALKGRAD_SMOOTH(gelu_erf, "x Phi(x)", "§8", -3));
}

} // namespace chalkgrad
#endif

CHALKGRAD_UNARY(relu, Relu, Role::activation, "max(x, 0)", "§8", {.gap = 0.1}, diagonal_jacobian("x", 1))
CHALKGRAD_UNARY(sigmoid, Sigmoid, Role::activation, CHALKGRAD_SMOOTH(sigmoid, "1 / (1 + e^-x)", "§8", -6))
CHALKGRAD_UNARY(softplus, Softplus, Role::activation, CHALKGRAD_SMOOTH(softplus, "log(1 + e^x)", "§11", -6))
CHALKGRAD_UNARY(silu, Silu, Role::activation, CHALKGRAD_SMOOTH(silu, "x sigmoid(x)", "§8", -6))
CHALKGRAD_UNARY(gelu_tanh, GeluTanh, Role::activation,
    CHALKGRAD_SMOOTH(gelu_tanh, "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))", "§8", -3))
