// layer_norm:  c = x − ⟨x⟩,  c ← c − ⟨c⟩,  r = 1/√(⟨c²⟩ + ε),  n = r c,  y = γ n + β        ⟨·⟩ is the mean over a row
#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/norm/norm_kernels.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// Kept of each row: its mean, the rounding error of that (which the second centring finds), and r.
template <class T> struct LayerRow {
    const T *x, *gy;
    T* to;
    T mean, rest, r;
    Pair<T> means; // r {⟨h⟩, ⟨n h⟩}, h = γ ȳ

    FAST T n(std::size_t j) const { return r * ((x[j] - mean) - rest); }
};

template <class T>
void layer_norm_forward(
    std::size_t rows, std::size_t d, T eps, T root_eps, const T* x, const T* gamma, const T* beta, T* moments, T* y) {
    write_rows<T>(
        rows, d,
        [=](std::size_t t) FAST {
            const T* row = x + t * d;
            T mean = sum<T>(d, [=](std::size_t j) FAST { return row[j]; }) / T(d);
            if (!(mean - mean == 0))
                mean = sum<T>(d, [=](std::size_t j) FAST { return row[j] / T(d); }); // Σx overflowed
            const T rest = sum<T>(d, [=](std::size_t j) FAST { return row[j] - mean; }) / T(d);
            const T r = 1 / root_mean_square<T>(
                                d, T(d), eps, root_eps, [=](std::size_t j) FAST { return (row[j] - mean) - rest; });
            moments[3 * t] = mean;
            moments[3 * t + 1] = rest;
            moments[3 * t + 2] = r;
            return LayerRow<T>{row, nullptr, y + t * d, mean, rest, r, {}};
        },
        [=](const LayerRow<T>& row, std::size_t j) FAST { return gamma[j] * row.n(j) + beta[j]; });
}

template <class T>
FAST inline LayerRow<T> layer_backward_row(
    std::size_t d, const T* x, const T* gamma, const T* moments, const T* gy, T* gx) {
    LayerRow<T> row{x, gy, gx, moments[0], moments[1], moments[2], {}};
    const Pair<T> s = sum2<T>(d, [=](std::size_t j) FAST {
        const T h = gamma[j] * gy[j];
        return Pair<T>{h, h * row.n(j)};
    });
    row.means = {row.r * (s.first / T(d)), row.r * (s.second / T(d))};
    return row;
}

// Vary x: dn = r (dx − ⟨dx⟩ − n ⟨n dx⟩), a symmetric Jacobian. So with h = γ ȳ:  x̄ = r (h − ⟨h⟩ − n ⟨n h⟩).
// {x̄, ȳ n, ȳ} of one element.
template <class T> FAST inline Triple<T> layer_backward_element(const LayerRow<T>& row, T gamma, std::size_t j) {
    const T n = row.n(j), g = row.gy[j];
    return {(gamma * (row.r * g) - row.means.first) - n * row.means.second, g * n, g};
}

template <class T>
void layer_norm_gx(std::size_t rows, std::size_t d, const T* x, const T* gamma, const T* moments, const T* gy, T* gx) {
    write_rows<T>(
        rows, d,
        [=](std::size_t t)
            FAST { return layer_backward_row(d, x + t * d, gamma, moments + 3 * t, gy + t * d, gx + t * d); },
        [=](const LayerRow<T>& row, std::size_t j) FAST { return layer_backward_element(row, gamma[j], j).written; });
}

// The same with γ̄ = Σ_rows ȳ n and β̄ = Σ_rows ȳ.
template <class T>
void layer_norm_gradients(std::size_t rows, std::size_t d, const T* x, const T* gamma, const T* moments, const T* gy,
    T* gx, T* ggamma, T* gbeta) {
    write_rows_and_sums<T>(
        rows, d, ggamma, gbeta,
        [=](std::size_t t)
            FAST { return layer_backward_row(d, x + t * d, gamma, moments + 3 * t, gy + t * d, gx + t * d); },
        [=](const LayerRow<T>& row, std::size_t j) FAST { return layer_backward_element(row, gamma[j], j); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(layer_norm_forward)
CHALKGRAD_KERNEL(layer_norm_gx)
CHALKGRAD_KERNEL(layer_norm_gradients)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/catalog/identities.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/norm/gain.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

namespace chalkgrad {
namespace {

struct LayerNorm {
    static constexpr const char* name = "layer_norm";
    static constexpr const char* inputs[] = {"x", "gamma", "beta"};
    static constexpr std::size_t required = 1;
    static constexpr Role role = Role::norm;
    double eps;

    Shape shape(Shapes in) const {
        require_rows(name, in[0]);
        require_gain(name, "gamma", in, 1);
        require_gain(name, "beta", in, 2);
        require_positive(name, "eps", eps);
        return in[0];
    }
    std::size_t saved(Shapes in) const { return 3 * in[0].rows(); } // mean, its rounding error, r
    void attributes(Attributes& out) const { out.set("eps", eps); }
    double length_scale(Ins<double>) const { return std::sqrt(eps); }

    template <class T> void forward(Ins<T> in, Out<T> y, T* moments) const {
        const In<T> x = in[0];
        const BroadcastRow<T> gamma(in[1], x.last(), 1), beta(in[2], x.last(), 0);
        kernel::layer_norm_forward<T>(
            x.rows(), x.last(), T(eps), T(std::sqrt(eps)), x.data, gamma.data(), beta.data(), moments, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T* moments, Outs<T> gx) const {
        const In<T> x = in[0];
        const std::size_t rows = x.rows(), d = x.last();
        const BroadcastRow<T> gamma(in[1], d, 1);
        if (!gx[1] && !gx[2]) {
            kernel::layer_norm_gx<T>(rows, d, x.data, gamma.data(), moments, gy.data, gx[0].data);
            return;
        }
        Scratch<T> unwanted(gx[0] ? 0 : x.size());
        RowReduction<T> ggamma(gx[1], d), gbeta(gx[2], d);
        kernel::layer_norm_gradients<T>(rows, d, x.data, gamma.data(), moments, gy.data,
            gx[0] ? gx[0].data : unwanted.data(), ggamma.data(), gbeta.data());
    }
};

} // namespace

template <class T> Var<T> layer_norm(const Var<T>& x, const Var<T>& gamma, const Var<T>& beta, double eps) {
    return apply(LayerNorm{eps}, x, gamma, beta);
}

template <class T> Var<T> layer_norm_composed(const Var<T>& x, const Var<T>& gamma, const Var<T>& beta, double eps) {
    Var<T> c = x - mean(x, -1, true);
    c = c - mean(c, -1, true);
    Var<T> y = c / sqrt(mean(square(c), -1, true) + eps);
    if (gamma) y = y * gamma;
    return beta ? y + beta : y;
}

#define CHALKGRAD_INSTANTIATE(T)                                                     \
    template Var<T> layer_norm(const Var<T>&, const Var<T>&, const Var<T>&, double); \
    template Var<T> layer_norm_composed(const Var<T>&, const Var<T>&, const Var<T>&, double);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

CatalogEntry layer_norm_entry() {
    return entry(
        "layer_norm", "gamma (x - mean) / sqrt(var + eps) + beta", "§5",
        [](auto& c) {
            c.ignore({"seed", "row_rms"});
            return layer_norm(c.in("x"), c.maybe("gamma"), c.maybe("beta"), c.number("eps", 1e-5));
        },
        [](Generator& rng) {
            // One row's variance is about ε, where an ε left out of the backward shows; one row has a mean far from zero.
            Array<double> x = rng.standard_normal({4, 5});
            for (std::size_t j = 0; j < 5; ++j) {
                x(1, j) *= 1e-3;
                x(2, j) += 30;
            }
            return std::vector<Sample>{
                {"affine", {{"x", x}, {"gamma", rng.standard_normal({5})}, {"beta", rng.standard_normal({5})}}, {},
                    {{"eps", 1e-6}}},
                {"plain", {{"x", rng.standard_normal({2, 3})}}, {}, {{"eps", 0.1}}},
                {"gain_only", {{"x", rng.standard_normal({5, 4})}, {"gamma", rng.standard_normal({4})}}, {},
                    {{"eps", 1e-5}}},
                {"bias_only", {{"x", rng.standard_normal({2, 11})}, {"beta", rng.standard_normal({11})}}, {},
                    {{"eps", 1e-2}}},
                {"numbers",
                    {{"x", rng.standard_normal({2, 2, 3})}, {"gamma", rng.standard_normal({})},
                        {"beta", rng.standard_normal({})}},
                    {}, {{"eps", 1e-2}}}};
        },
        [](auto& c) {
            return layer_norm_composed(c.in("x"), c.maybe("gamma"), c.maybe("beta"), c.number("eps", 1e-5));
        })
        .with_identities([](const Sample& s) {
            const Array<double>& x = *s.input("x");
            const std::size_t d = last_extent(x);
            std::vector<Identity> known{
                known_product("J 1 = 0 in every row", "x", constant_along(-1, x)), block_diagonal_rows("x", d, d)};
            if (s.input("gamma") != nullptr && s.input("beta") == nullptr) known.push_back(homogeneous("gamma", 1));
            return known;
        });
}

} // namespace chalkgrad
#endif
