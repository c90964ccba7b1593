// dyt:  y = γ tanh(αx) + β, element by element; α is one number, γ and β have one for each feature
#include <chalkgrad/ops/elementwise/activation_functions.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T>
void dyt_forward(std::size_t rows, std::size_t d, T alpha, const T* x, const T* gamma, const T* beta, T* y) {
    for (std::size_t t = 0; t < rows; ++t, x += d, y += d)
        each<T>(d, [=](std::size_t j) FAST { y[j] = gamma[j] * tanh(alpha * x[j]) + beta[j]; });
}

// With w = ȳ γ sech²(αx):  x̄ = α w,  ᾱ = Σ w x (here one sum for each feature),  γ̄ = Σ_rows ȳ tanh(αx),  β̄ = Σ_rows ȳ.
// Where sech² is 0, so is w x, at inf too.
template <class T>
void dyt_gradients(std::size_t rows, std::size_t d, T alpha, const T* x, const T* gamma, const T* gy, T* gx, T* galpha,
    T* ggamma, T* gbeta) {
    each<T>(d, [=](std::size_t j) FAST { galpha[j] = ggamma[j] = gbeta[j] = 0; });
    for (std::size_t t = 0; t < rows; ++t, x += d, gy += d, gx += d)
        each<T>(d, [=](std::size_t j) FAST {
            const T z = alpha * x[j], slope = sech_squared(z), w = gy[j] * gamma[j] * slope;
            gx[j] = alpha * w;
            galpha[j] += slope == 0 ? T(0) : w * x[j];
            ggamma[j] += gy[j] * tanh(z);
            gbeta[j] += gy[j];
        });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(dyt_forward, dyt_gradients)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/norm/dyt.hpp>
#include <chalkgrad/ops/norm/gain.hpp>

namespace chalkgrad {
namespace {

struct Dyt {
    static constexpr const char* name = "dyt";
    static constexpr const char* inputs[] = {"x", "alpha", "gamma", "beta"};
    static constexpr std::size_t required = 2;
    static constexpr Role role = Role::norm;

    Shape shape(Shapes in) const {
        require_rows(name, in[0]);
        if (in[1].rank() != 0)
            throw Error(fmt::format("{}: alpha has shape {}; it must be a single number", name, to_string(in[1])));
        require_gain(name, "gamma", in, 2);
        require_gain(name, "beta", in, 3);
        return in[0];
    }
    double length_scale(Ins<double> in) const { return 1 / std::max(1.0, std::abs(in[1][0])); }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        const std::size_t d = y.last();
        const BroadcastRow<T> gamma(in[2], d, 1), beta(in[3], d, 0);
        kernel::dyt_forward<T>(y.rows(), d, in[1][0], in[0].data, gamma.data(), beta.data(), y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        const std::size_t d = y.last();
        const BroadcastRow<T> gamma(in[2], d, 1);
        RowGradient<T> galpha(gx[1], in[0]), ggamma(gx[2], in[0]), gbeta(gx[3], in[0]);
        each_rows(
            y.rows(),
            [&](std::size_t first, std::size_t rows) {
                const std::size_t at = first * d;
                kernel::dyt_gradients<T>(rows, d, in[1][0], in[0].data + at, gamma.data(), gy.data + at,
                    gx[0].data + at, galpha.data(), ggamma.data(), gbeta.data());
            },
            galpha, ggamma, gbeta);
    }
};

} // namespace

template <class T> Var<T> dyt(const Var<T>& x, const Var<T>& alpha, const Var<T>& gamma, const Var<T>& beta) {
    return apply(Dyt{}, x, alpha, gamma, beta);
}

template <class T> Var<T> dyt_composed(const Var<T>& x, const Var<T>& alpha, const Var<T>& gamma, const Var<T>& beta) {
    Var<T> y = tanh(alpha * x);
    if (gamma) y = gamma * y;
    return beta ? y + beta : y;
}

CHALKGRAD_INSTANCES(dyt, dyt_composed)

CatalogEntry dyt_entry() {
    return entry("dyt", "gamma tanh(alpha x) + beta", "§11", "x alpha gamma? beta?", plain<Dyt>)
        .with_samples({"affine: x(3,5) alpha() gamma(5) beta(5)", "plain: x(2,11) alpha()",
            "numbers: x(2,2,3) alpha() gamma() beta()", "row_of_one: x(4,1) alpha() gamma(1)"})
        .with_twin([](auto& c) { return dyt_composed(c.in("x"), c.in("alpha"), c.maybe("gamma"), c.maybe("beta")); })
        .with_identities(diagonal_jacobian({"x"}));
}

} // namespace chalkgrad
#endif
