// layer_norm:  c = x − ⟨x⟩,  c ← c − ⟨c⟩,  r = 1/√(⟨c²⟩ + ε),  n = r c,  y = γ n + β        ⟨·⟩ is the mean over a row
#include <chalkgrad/ops/norm/norm_kernels.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// Kept of each row: its mean m, the rounding error e of that (which the second centring finds), both halved, and r. All is
// done in halves: the difference of two numbers at the ends of the range stays within it.
template <class T>
void layer_norm_forward(std::size_t rows, std::size_t d, T quarter_eps, T half_root_eps, const T* x, const T* gamma,
    const T* beta, T* m, T* e, T* r, T* y) {
    for (std::size_t t = 0; t < rows; ++t, x += d, y += d) {
        T mt = mean<T>(d, [=](std::size_t j) FAST { return x[j] / 2; });
        if (!(mt - mt == 0)) mt = sum<T>(d, [=](std::size_t j) FAST { return x[j] / T(2 * d); }); // Σx overflowed
        m[t] = mt;
        const T et = e[t] = mean<T>(d, [=](std::size_t j) FAST { return x[j] / 2 - mt; });
        const T rt = r[t] = T(0.5) / root_mean_square<T>(d, T(d), quarter_eps, half_root_eps,
                                         [=](std::size_t j) FAST { return (x[j] / 2 - mt) - et; });
        each<T>(d, [=](std::size_t j) FAST { y[j] = gamma[j] * (2 * rt * ((x[j] / 2 - mt) - et)) + beta[j]; });
    }
}

// Vary x: dn = r (dx − ⟨dx⟩ − n ⟨n dx⟩), a symmetric Jacobian. So with h = γ ȳ:
//     x̄ = r (h − ⟨h⟩ − n ⟨n h⟩),   γ̄ = Σ_rows ȳ n,   β̄ = Σ_rows ȳ
template <class T>
void layer_norm_gradients(std::size_t rows, std::size_t d, const T* x, const T* gamma, const T* m, const T* e,
    const T* r, const T* gy, T* gx, T* ggamma, T* gbeta) {
    each<T>(d, [=](std::size_t j) FAST { ggamma[j] = gbeta[j] = 0; });
    each_two_rows<T>(rows, d, [=](auto at) FAST {
        const auto mt = at(m), et = at(e), rt = at(r);
        const auto means = mean<T>(d, [=](std::size_t j) FAST {
            const auto h = gamma[j] * at(gy, j);
            return pair(h, h * (2 * rt * ((at(x, j) / 2 - mt) - et)));
        });
        const auto a = rt * means.first, b = rt * means.second;
        each<T>(d, [=](std::size_t j) FAST {
            const auto n = 2 * rt * ((at(x, j) / 2 - mt) - et), g = at(gy, j);
            at(gx, j) = (gamma[j] * (rt * g) - a) - n * b;
            ggamma[j] += over_rows(g * n);
            gbeta[j] += over_rows(g);
        });
    });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(layer_norm_forward, layer_norm_gradients)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
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
    std::size_t saved(Shapes in) const { return 3 * in[0].rows(); } // m, then e, then r
    void attributes(Attributes& out) const { out.set("eps", eps); }
    double length_scale(Ins<double>) const { return std::sqrt(eps); }

    template <class T> void forward(Ins<T> in, Out<T> y, T* m) const {
        const std::size_t rows = y.rows(), d = y.last();
        const BroadcastRow<T> gamma(in[1], d, 1), beta(in[2], d, 0);
        kernel::layer_norm_forward<T>(rows, d, T(eps / 4), T(std::sqrt(eps) / 2), in[0].data, gamma.data(), beta.data(),
            m, m + rows, m + 2 * rows, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T* m, Outs<T> gx) const {
        const std::size_t rows = gy.rows(), d = gy.last();
        const BroadcastRow<T> gamma(in[1], d, 1);
        RowGradient<T> ggamma(gx[1], in[0]), gbeta(gx[2], in[0]);
        each_rows(
            rows,
            [&](std::size_t first, std::size_t count) {
                const std::size_t at = first * d;
                const T* const kept = m + first;
                kernel::layer_norm_gradients<T>(count, d, in[0].data + at, gamma.data(), kept, kept + rows,
                    kept + 2 * rows, gy.data + at, gx[0].data + at, ggamma.data(), gbeta.data());
            },
            ggamma, gbeta);
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

CHALKGRAD_INSTANCES(layer_norm, layer_norm_composed)

CatalogEntry layer_norm_entry() {
    return entry("layer_norm", "gamma (x - mean) / sqrt(var + eps) + beta", "§5", "x gamma? beta?",
        [](Settings& c) {
            c.ignore({"seed", "row_rms"});
            return rule_of(LayerNorm{c.number("eps", 1e-5)});
        })
        .with_samples(
            {"affine: x(4,5) gamma(5) beta(5) eps=1e-6", "plain: x(2,3) eps=0.1", "gain_only: x(5,4) gamma(4) eps=1e-5",
                "bias_only: x(2,11) beta(11) eps=1e-2", "numbers: x(2,2,3) gamma() beta() eps=1e-2"},
            {},
            [](std::vector<Sample>& samples) {
                // One row's variance is about ε, where an ε left out of the backward shows; one row has a mean far from zero.
                Array<double>& x = samples[0].inputs[0].values;
                for (std::size_t j = 0; j < 5; ++j) {
                    x(1, j) *= 1e-3;
                    x(2, j) += 30;
                }
            })
        .with_twin([](auto& c) {
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
