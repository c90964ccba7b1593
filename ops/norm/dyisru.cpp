// dyisru_b:  h = √(b + x²),  n = x / h,  y = γ n + β, element by element.  dyisru_softplus:  b = softplus(r) + floor
#include <chalkgrad/ops/elementwise/activation_functions.hpp>
#include <chalkgrad/ops/norm/norm_kernels.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// √(s² + x²), s = √b ≥ 0, in units of the larger: no square over- or underflows. 1 where both are 0, so that x/h is 0.
template <class T> FAST inline T hypotenuse(T s, T x) {
    const T a = x < 0 ? -x : x, large = a < s ? s : a, small = a < s ? a : s, q = small / large;
    return large == 0 ? T(1) : large * sqrt(1 + q * q);
}
// At ±inf n is ±1: inf is read as the largest number.
template <class T> FAST inline T finite(T x) { return held(x, T(largest<T>)); }

template <class T>
void dyisru_forward(std::size_t rows, std::size_t d, const T* x, const T* root_b, const T* gamma, const T* beta, T* y) {
    for (std::size_t t = 0; t < rows; ++t, x += d, y += d)
        each<T>(d, [=](std::size_t j) FAST {
            const T z = finite(x[j]);
            y[j] = gamma[j] * (z / hypotenuse(root_b[j], z)) + beta[j];
        });
}

// dn = (b dx − ½ x db)/h³. So with w = ȳ γ/h:  x̄ = w b/h²,  b̄ = −½ Σ_rows w n/h,  γ̄ = Σ_rows ȳ n,  β̄ = Σ_rows ȳ.
template <class T>
void dyisru_gradients(std::size_t rows, std::size_t d, const T* x, const T* root_b, const T* gamma, const T* gy, T* gx,
    T* gb, T* ggamma, T* gbeta) {
    each<T>(d, [=](std::size_t j) FAST { gb[j] = ggamma[j] = gbeta[j] = 0; });
    for (std::size_t t = 0; t < rows; ++t, x += d, gy += d, gx += d)
        each<T>(d, [=](std::size_t j) FAST {
            const T z = finite(x[j]), h = hypotenuse(root_b[j], z), n = z / h;
            const T w = gy[j] * gamma[j] / h, s = root_b[j] / h;
            gx[j] = w * (s * s);
            gb[j] -= T(0.5) * (w * n / h);
            ggamma[j] += gy[j] * n;
            gbeta[j] += gy[j];
        });
}

// √b of b, or of r, and r̄ = b̄ σ(r) in the place of b̄.
template <class T> void root_row(std::size_t d, const T* b, T* root_b) {
    each<T>(d, [=](std::size_t j) FAST { root_b[j] = sqrt(b[j]); });
}
template <class T> void softplus_root_row(std::size_t d, T floor, const T* r, T* root_b) {
    each<T>(d, [=](std::size_t j) FAST { root_b[j] = sqrt(Softplus::y(r[j]) + floor); });
}
template <class T> void softplus_row_gradient(std::size_t d, const T* r, T* gb) {
    each<T>(d, [=](std::size_t j) FAST { gb[j] *= sigmoid(r[j]); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(dyisru_forward, dyisru_gradients, root_row, softplus_root_row, softplus_row_gradient)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/norm/dyisru.hpp>
#include <chalkgrad/ops/norm/gain.hpp>

namespace chalkgrad {
namespace {

/// Given b, or r with b = softplus(r) + floor.
template <bool softplus> struct Dyisru {
    static constexpr const char* name = softplus ? "dyisru_softplus" : "dyisru_b";
    static constexpr const char* inputs[] = {"x", softplus ? "r" : "b", "gamma", "beta"};
    static constexpr std::size_t required = 2;
    static constexpr Role role = Role::norm;
    double floor = 0;

    Shape shape(Shapes in) const {
        if (!(floor >= 0 && std::isfinite(floor)))
            throw Error(fmt::format("{}: floor is {}; it must be finite and not negative", name, floor));
        require_rows(name, in[0]);
        for (const std::size_t i : {1, 2, 3}) require_gain(name, inputs[i], in, i);
        return in[0];
    }
    std::size_t saved(Shapes in) const { return in[0].last(); } // √b
    void attributes(Attributes& out) const {
        if (softplus) out.set("floor", floor);
    }
    /// An element bends over √b.
    double length_scale(Ins<double> in) const {
        double shortest = 1;
        for (std::size_t i = 0; i < in[1].size(); ++i) {
            const double b = softplus ? base::Softplus::y(in[1][i]) + floor : in[1][i];
            if (b > 0) shortest = std::min(shortest, std::sqrt(b));
        }
        return shortest;
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* root_b) const {
        const std::size_t d = y.last();
        const BroadcastRow<T> b(in[1], d, 0), gamma(in[2], d, 1), beta(in[3], d, 0);
        if (softplus) kernel::softplus_root_row<T>(d, T(floor), b.data(), root_b);
        else kernel::root_row<T>(d, b.data(), root_b);
        kernel::dyisru_forward<T>(y.rows(), d, in[0].data, root_b, gamma.data(), beta.data(), y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T* root_b, Outs<T> gx) const {
        const std::size_t d = gy.last();
        const BroadcastRow<T> b(in[1], d, 0), gamma(in[2], d, 1);
        RowGradient<T> gb(gx[1], in[0]), ggamma(gx[2], in[0]), gbeta(gx[3], in[0]);
        each_rows(
            gy.rows(),
            [&](std::size_t first, std::size_t rows) {
                const std::size_t at = first * d;
                kernel::dyisru_gradients<T>(rows, d, in[0].data + at, root_b, gamma.data(), gy.data + at,
                    gx[0].data + at, gb.data(), ggamma.data(), gbeta.data());
                if (softplus) kernel::softplus_row_gradient<T>(d, b.data(), gb.data());
            },
            gb, ggamma, gbeta);
    }
};

} // namespace

template <class T> Var<T> dyisru_b(const Var<T>& x, const Var<T>& b, const Var<T>& gamma, const Var<T>& beta) {
    return apply(Dyisru<false>{}, x, b, gamma, beta);
}
template <class T>
Var<T> dyisru_softplus(const Var<T>& x, const Var<T>& r, const Var<T>& gamma, const Var<T>& beta, double floor) {
    return apply(Dyisru<true>{floor}, x, r, gamma, beta);
}

template <class T> Var<T> dyisru_b_composed(const Var<T>& x, const Var<T>& b, const Var<T>& gamma, const Var<T>& beta) {
    Var<T> y = x / sqrt(b + square(x));
    if (gamma) y = gamma * y;
    return beta ? y + beta : y;
}
template <class T>
Var<T> dyisru_softplus_composed(
    const Var<T>& x, const Var<T>& r, const Var<T>& gamma, const Var<T>& beta, double floor) {
    return dyisru_b_composed(x, softplus(r) + floor, gamma, beta);
}

CHALKGRAD_INSTANCES(dyisru_b, dyisru_b_composed)
CHALKGRAD_INSTANCES(dyisru_softplus, dyisru_softplus_composed)

CatalogEntry dyisru_b_entry() {
    return entry("dyisru_b", "gamma x / sqrt(b + x^2) + beta", "§11", "x b gamma? beta?",
        [](Settings& c) {
            c.ignore({"b"});
            return rule_of(Dyisru<false>{});
        })
        .with_samples({"affine: x(3,5) b() gamma(5) beta(5)", "row_of_b: x(2,11) b(11) gamma() beta()",
                          "plain: x(2,2,3) b(3)", "row_of_one: x(4,1) b(1) gamma(1)"},
            [](Generator& rng, std::string_view input, const Shape& shape) {
                return input == "b" ? rng.uniform(0.3, 2, shape) : rng.standard_normal(shape);
            })
        .with_twin([](auto& c) {
            c.ignore({"b"});
            return dyisru_b_composed(c.in("x"), c.in("b"), c.maybe("gamma"), c.maybe("beta"));
        })
        .with_identities(diagonal_jacobian({"x"}));
}
CatalogEntry dyisru_softplus_entry() {
    return entry("dyisru_softplus", "gamma x / sqrt(softplus(r) + floor + x^2) + beta", "§11", "x r gamma? beta?",
        [](Settings& c) {
            c.ignore({"b"});
            return rule_of(Dyisru<true>{c.number("floor", 0)});
        })
        .with_samples({"affine: x(3,5) r() gamma(5) beta(5)", "row_of_r: x(2,11) r(11) gamma() floor=0.2",
            "plain: x(2,2,3) r(3) floor=1e-6"})
        .with_twin([](auto& c) {
            c.ignore({"b"});
            return dyisru_softplus_composed(
                c.in("x"), c.in("r"), c.maybe("gamma"), c.maybe("beta"), c.number("floor", 0));
        })
        .with_identities(diagonal_jacobian({"x"}));
}

} // namespace chalkgrad
#endif
