// rms_norm:  r = 1/√(⟨x²⟩ + ε),  n = r x,  y = γ n          ⟨·⟩ is the mean over a row; γ may be 1 + γ, one number, or absent
#include <chalkgrad/autograd/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T>
void rms_norm_forward(std::size_t rows, std::size_t d, T eps, const T* x, const T* gamma, T* r, T* y) {
    for (std::size_t t = 0; t < rows; ++t, x += d, y += d) {
        const T rt = r[t] = 1 / sqrt(sum<T>(d, [=](std::size_t j) FAST { return x[j] * x[j]; }) / T(d) + eps);
        each<T>(d, [=](std::size_t j) FAST { y[j] = gamma[j] * (rt * x[j]); });
    }
}

// Vary x: dn = r (dx − n ⟨n dx⟩), a symmetric Jacobian. So with h = γ ȳ:  x̄ = r (h − n ⟨n h⟩).
template <class T>
void rms_norm_gx(std::size_t rows, std::size_t d, const T* x, const T* gamma, const T* r, const T* gy, T* gx) {
    for (std::size_t t = 0; t < rows; ++t, x += d, gy += d, gx += d) {
        const T rt = r[t];
        const T m = rt * sum<T>(d, [=](std::size_t j) FAST { return gamma[j] * gy[j] * x[j]; }) / T(d);
        each<T>(d, [=](std::size_t j) FAST { gx[j] = rt * (gamma[j] * gy[j] - (rt * x[j]) * m); });
    }
}

// γ̄ = Σ_rows ȳ n.
template <class T>
void rms_norm_ggamma(std::size_t rows, std::size_t d, const T* x, const T* r, const T* gy, T* ggamma) {
    each<T>(d, [=](std::size_t j) FAST { ggamma[j] = 0; });
    std::size_t t = 0;
    for (; t + 4 <= rows; t += 4, x += 4 * d, gy += 4 * d) { // four rows for each pass over γ̄
        const T r0 = r[t], r1 = r[t + 1], r2 = r[t + 2], r3 = r[t + 3];
        each<T>(d, [=](std::size_t j) FAST {
            ggamma[j] += (gy[j] * (r0 * x[j]) + gy[d + j] * (r1 * x[d + j])) +
                         (gy[2 * d + j] * (r2 * x[2 * d + j]) + gy[3 * d + j] * (r3 * x[3 * d + j]));
        });
    }
    for (; t < rows; ++t, x += d, gy += d) {
        const T rt = r[t];
        each<T>(d, [=](std::size_t j) FAST { ggamma[j] += gy[j] * (rt * x[j]); });
    }
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(rms_norm_forward)
CHALKGRAD_KERNEL(rms_norm_gx)
CHALKGRAD_KERNEL(rms_norm_ggamma)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/apply.hpp>
#include <chalkgrad/ops/catalog.hpp>
#include <chalkgrad/ops/gain.hpp>
#include <chalkgrad/ops/rms_norm.hpp>

namespace chalkgrad {
namespace {

struct RmsNorm {
    static constexpr const char* name = "rms_norm";
    static constexpr const char* inputs[] = {"x", "gamma"};
    static constexpr Role role = Role::norm;
    double eps;
    Gain gain;

    Shape shape(Shapes in) const {
        require_rows(name, in[0]);
        require_gain(name, "gamma", in, 1);
        require_positive(name, "eps", eps);
        return in[0];
    }
    std::size_t saved(Shapes in) const { return in[0].rows(); } // r
    void attributes(Attributes& out) const {
        out.set("eps", eps);
        if (gain == Gain::one_plus_weight) out.set("gain", std::string("1 + gamma"));
    }
    double natural_length(Ins<double>) const { return std::sqrt(eps); }

    template <class T>
    void forward(Ins<T> in, Out<T> y, T* r) const {
        const In<T> x = in[0];
        const FullGain<T> gamma(in[1], x.last(), gain);
        kernel::rms_norm_forward<T>(x.rows(), x.last(), T(eps), x.data, gamma.data(), r, y.data);
    }
    template <class T>
    void vjp(Ins<T> in, In<T>, In<T> gy, const T* r, Outs<T> gx) const {
        const In<T> x = in[0];
        const FullGain<T> gamma(in[1], x.last(), gain);
        if (gx[0]) kernel::rms_norm_gx<T>(x.rows(), x.last(), x.data, gamma.data(), r, gy.data, gx[0].data);
        if (gx[1]) {
            GainGradient<T> ggamma(gx[1], x.last());
            kernel::rms_norm_ggamma<T>(x.rows(), x.last(), x.data, r, gy.data, ggamma.data());
        }
    }
};

} // namespace

template <class T>
Var<T> rms_norm(const Var<T>& x, const Var<T>& gamma, double eps, Gain gain) {
    return apply(RmsNorm{eps, gain}, x, gamma);
}

#define CHALKGRAD_INSTANTIATE(T) template Var<T> rms_norm(const Var<T>&, const Var<T>&, double, Gain);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)

CatalogEntry rms_norm_entry() {
    return entry(
        "rms_norm", "gamma x / sqrt(mean(x^2) + eps)", "§5",
        [](auto& c) {
            c.ignore({"seed", "row_rms"});
            const std::string gain = c.word("gain", "gamma");
            return rms_norm(c.in("x"), c.maybe("gamma"), c.number("eps", 1e-6),
                            gain == "1 + gamma" ? Gain::one_plus_weight : Gain::weight);
        },
        [](Generator& rng) {
            // γ ≠ 1, several rows, and one whose mean square is ε: there an ε left out of the backward shows.
            Array<double> x = rng.standard_normal({4, 6});
            for (std::size_t j = 0; j < 6; ++j) x(1, j) *= 1e-3;
            return std::vector<Sample>{
                {"row_of_sqrt_eps", {{"x", x}, {"gamma", rng.standard_normal({6})}}, {}, {{"eps", 1e-6}}},
                {"no_gain", {{"x", rng.standard_normal({2, 3})}}, {}, {{"eps", 0.1}}},
                {"number_gain", {{"x", rng.standard_normal({3, 5})}, {"gamma", rng.standard_normal({})}}, {}, {{"eps", 1e-2}}},
                {"one_plus_gain", {{"x", rng.standard_normal({2, 3, 4})}, {"gamma", rng.standard_normal({4})}}, {},
                 {{"eps", 1e-5}, {"gain", std::string("1 + gamma")}}},
                {"row_of_one", {{"x", rng.standard_normal({3, 1})}, {"gamma", rng.standard_normal({1})}}, {}, {{"eps", 0.1}}}};
        });
}

} // namespace chalkgrad
#endif
