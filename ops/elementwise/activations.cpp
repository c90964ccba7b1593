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
template <class T> void quick_gelu_gx(std::size_t n, T alpha, const T* x, const T* gy, T* gx) {
    each<T>(n, [=](std::size_t i) FAST { gx[i] = unless_zero(gy[i], gy[i] * Swish::slope(x[i], alpha)); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_UNARY(relu, Relu)
CHALKGRAD_UNARY(sigmoid, Sigmoid)
CHALKGRAD_UNARY(softplus, Softplus)
CHALKGRAD_UNARY(silu, Silu)
CHALKGRAD_UNARY(gelu_tanh, GeluTanh)

CHALKGRAD_KERNEL(gelu_erf_forward)
CHALKGRAD_KERNEL(gelu_erf_gx)
CHALKGRAD_KERNEL(quick_gelu_forward)
CHALKGRAD_KERNEL(quick_gelu_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/catalog/checks.hpp>
#include <chalkgrad/ops/catalog/identities.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/extrema.hpp>

namespace chalkgrad {
namespace {

CHALKGRAD_UNARY_RULE(
    ReluRule, relu, Relu, Role::activation, template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        for (std::size_t i = 0; i < in[0].size(); ++i) out.branch(0, in[0][i], T(0));
    })
CHALKGRAD_UNARY_RULE(SigmoidRule, sigmoid, Sigmoid, Role::activation)
CHALKGRAD_UNARY_RULE(SoftplusRule, softplus, Softplus, Role::activation)
CHALKGRAD_UNARY_RULE(SiluRule, silu, Silu, Role::activation)
CHALKGRAD_UNARY_RULE(GeluTanhRule, gelu_tanh, GeluTanh, Role::activation)

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
    static constexpr const char* name = "quick_gelu";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::activation;
    double alpha;

    Shape shape(Shapes in) const {
        require_positive(name, "alpha", alpha);
        return in[0];
    }
    void attributes(Attributes& out) const { out.set("alpha", alpha); }
    double length_scale(Ins<double>) const { return 1 / alpha; }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        kernel::quick_gelu_forward<T>(y.size(), T(alpha), in[0].data, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        kernel::quick_gelu_gx<T>(y.size(), T(alpha), in[0].data, gy.data, gx[0].data);
    }
};

} // namespace

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

#define CHALKGRAD_INSTANTIATE(T)                       \
    template Var<T> quick_gelu(const Var<T>&, double); \
    template Var<T> sigmoid_composed(const Var<T>&);   \
    template Var<T> softplus_composed(const Var<T>&);  \
    template Var<T> silu_composed(const Var<T>&);      \
    template Var<T> gelu_erf_composed(const Var<T>&);  \
    template Var<T> gelu_tanh_composed(const Var<T>&); \
    template Var<T> quick_gelu_composed(const Var<T>&, double);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

CHALKGRAD_UNARY_OP(relu, ReluRule, "max(x, 0)", "§8", {.gap = 0.1}, diagonal_jacobian("x", 1))
// From a number to 6: where the twin still has its digits.
#define CHALKGRAD_SMOOTH(op, Rule, formula, section, low)               \
    CHALKGRAD_UNARY_OP(                                                 \
        op, Rule, formula, section, {low, 6}, diagonal_jacobian({"x"}), \
        [](auto& c) { return op##_composed(c.in("x")); }, true)
CHALKGRAD_SMOOTH(sigmoid, SigmoidRule, "1 / (1 + e^-x)", "§8", -6)
CHALKGRAD_SMOOTH(softplus, SoftplusRule, "log(1 + e^x)", "§11", -6)
CHALKGRAD_SMOOTH(silu, SiluRule, "x sigmoid(x)", "§8", -6)
CHALKGRAD_SMOOTH(gelu_erf, GeluErfRule, "x Phi(x)", "§8", -3)
CHALKGRAD_SMOOTH(gelu_tanh, GeluTanhRule, "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))", "§8", -3)
#undef CHALKGRAD_SMOOTH

CatalogEntry quick_gelu_entry() {
    return entry("quick_gelu", "x sigmoid(alpha x)", "§8", "x",
        [](Settings& c) { return rule_of(QuickGelu{c.number("alpha", 1.702)}); })
        .with_samples([](Generator& rng) {
            const auto draw = [&](const Shape& shape) { return rng.uniform(-4, 4, shape); };
            return unary_samples(draw, "x", {{"alpha", 1.702}});
        })
        .with_twin([](auto& c) { return quick_gelu_composed(c.in("x"), c.number("alpha", 1.702)); })
        .with_identities(diagonal_jacobian({"x"}));
}

} // namespace chalkgrad
#endif
