// rms_norm:  r = 1/√(⟨x²⟩ + ε),  n = r x,  y = γ n          ⟨·⟩ is the mean over a row; γ may be 1 + γ, one number, or absent
#include <chalkgrad/ops/norm/norm_kernels.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T>
FAST inline void rms_norm_rows(
    std::size_t rows, std::size_t d, T eps, T root_eps, const T* x, const T* gamma, T* r, T* y) {
    for (std::size_t t = 0; t < rows; ++t)
        r[t] = 1 / root_mean_square<T>(d, T(d), eps, root_eps, [=](std::size_t j) FAST { return x[t * d + j]; });
    const T* const roots = r;
    each_four_rows<T>(rows, d, [=](auto at) FAST {
        const auto rt = at(roots);
        each<T>(d, [=](std::size_t j) FAST { at(y, j) = gamma[j] * (rt * at(x, j)); });
    });
}
// Four rows at a time: they share the gain, and all four are in the cache still when they are written.
template <class T>
void rms_norm_forward(std::size_t rows, std::size_t d, T eps, T root_eps, const T* x, const T* gamma, T* r, T* y) {
    for (std::size_t t = 0; t < rows; t += 4)
        rms_norm_rows(rows - t < 4 ? rows - t : 4, d, eps, root_eps, x + t * d, gamma, r + t, y + t * d);
}

// Vary x: dn = r (dx − n ⟨n dx⟩), a symmetric Jacobian. So with h = γ ȳ:  x̄ = r (h − n ⟨n h⟩),  γ̄ = Σ_rows ȳ n.
template <class T>
void rms_norm_gradients(
    std::size_t rows, std::size_t d, const T* x, const T* gamma, const T* r, const T* gy, T* gx, T* ggamma) {
    each<T>(d, [=](std::size_t j) FAST { ggamma[j] = 0; });
    each_four_rows<T>(rows, d, [=](auto at) FAST {
        const auto rt = at(r);
        const auto k = rt * mean<T>(d, [=](std::size_t j) FAST { return gamma[j] * at(gy, j) * (rt * at(x, j)); });
        each<T>(d, [=](std::size_t j) FAST {
            const auto n = rt * at(x, j), g = at(gy, j);
            at(gx, j) = gamma[j] * (rt * g) - n * k;
            ggamma[j] += over_rows(g * n);
        });
    });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(rms_norm_forward, rms_norm_gradients)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/norm/gain.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

namespace chalkgrad {
namespace {

struct RmsNorm {
    static constexpr const char* name = "rms_norm";
    static constexpr const char* inputs[] = {"x", "gamma"};
    static constexpr std::size_t required = 1;
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
    double length_scale(Ins<double>) const { return std::sqrt(eps); }

    template <class T> void forward(Ins<T> in, Out<T> y, T* r) const {
        const In<T> x = in[0];
        const BroadcastRow<T> gamma(in[1], x.last(), 1, gain == Gain::one_plus_weight ? 1 : 0);
        kernel::rms_norm_forward<T>(x.rows(), x.last(), T(eps), T(std::sqrt(eps)), x.data, gamma.data(), r, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T* r, Outs<T> gx) const {
        const In<T> x = in[0];
        const BroadcastRow<T> gamma(in[1], x.last(), 1, gain == Gain::one_plus_weight ? 1 : 0);
        RowGradient<T> ggamma(gx[1], x);
        each_rows(
            x.rows(),
            [&](std::size_t first, std::size_t rows) {
                const std::size_t at = first * x.last();
                kernel::rms_norm_gradients<T>(
                    rows, x.last(), x.data + at, gamma.data(), r + first, gy.data + at, gx[0].data + at, ggamma.data());
            },
            ggamma);
    }
};

} // namespace

template <class T> Var<T> rms_norm(const Var<T>& x, const Var<T>& gamma, double eps, Gain gain, Cast cast) {
    constexpr bool is_storage = !std::is_same_v<T, work_t<T>>;
    if (is_storage && cast == Cast::before_weight && gamma) {
        // Every op's result is rounded: the norm without its gain, then the gain, is Llama's order.
        return composite(x.tape(), "rms_norm", Role::norm,
            [&] { return rms_norm(x, {}, eps) * (gain == Gain::one_plus_weight ? 1 + gamma : gamma); });
    }
    return apply(RmsNorm{eps, gain}, x, gamma);
}

template <class T> Var<T> rms_norm_composed(const Var<T>& x, const Var<T>& gamma, double eps, Gain gain) {
    const Var<T> n = x / sqrt(mean(square(x), -1, true) + eps);
    return !gamma ? n : gain == Gain::one_plus_weight ? n * (1 + gamma) : n * gamma;
}

CHALKGRAD_INSTANCES(rms_norm, rms_norm_composed)

namespace {

/// Which of two words an attribute is; the first where it is not given.
bool is_second(Settings& c, const char* attribute, const char* first, const char* second) {
    const std::string word = c.word(attribute, first);
    if (word != first && word != second)
        throw Error(
            fmt::format("rms_norm: attribute '{}' is '{}'; it must be '{}' or '{}'", attribute, word, first, second));
    return word == second;
}
Gain gain_of(Settings& c) { return is_second(c, "gain", "gamma", "1 + gamma") ? Gain::one_plus_weight : Gain::weight; }
Cast cast_of(Settings& c) {
    return is_second(c, "cast", "after_weight", "before_weight") ? Cast::before_weight : Cast::after_weight;
}

} // namespace

CatalogEntry rms_norm_entry() {
    const auto rounded = [](auto& c) { // where the cast matters, it may be several lines
        c.ignore({"seed", "row_rms"});
        return rms_norm(c.in("x"), c.maybe("gamma"), c.number("eps", 1e-6), gain_of(c), cast_of(c));
    };
    return entry("rms_norm", "gamma x / sqrt(mean(x^2) + eps)", "§5", "x gamma?",
        [](Settings& c) {
            c.ignore({"seed", "row_rms"});
            cast_of(c);
            return rule_of(RmsNorm{c.number("eps", 1e-6), gain_of(c)});
        })
        .with_samples({"row_of_sqrt_eps: x(4,6) gamma(6) eps=1e-6", "no_gain: x(2,3) eps=0.1",
                          "number_gain: x(3,5) gamma() eps=1e-2",
                          "one_plus_gain: x(2,3,4) gamma(4) eps=1e-5 gain='1 + gamma' cast=before_weight",
                          "row_of_eleven: x(5,11) gamma(11) eps=1e-5", "row_of_one: x(3,1) gamma(1) eps=0.1"},
            {},
            [](std::vector<Sample>& samples) {
                // The mean square of one row is ε: there an ε left out of the backward shows.
                for (std::size_t j = 0; j < 6; ++j) samples[0].inputs[0].values(1, j) *= 1e-3;
            })
        .with_twin([](auto& c) {
            cast_of(c);
            return rms_norm_composed(c.in("x"), c.maybe("gamma"), c.number("eps", 1e-6), gain_of(c));
        })
        .with_identities([](const Sample& s) {
            // Along x only the distance to ε = 0 counts: J x = γ x r · ε r².
            const Array<double>* gamma = s.input("gamma");
            const Attribute* gain = s.attributes.find("gain");
            const double eps = s.number("eps", 1e-6),
                         offset = gain != nullptr && to_string(*gain) == "1 + gamma" ? 1 : 0;
            std::vector<Identity> known =
                radial("J x = gamma x r eps r^2", *s.input("x"), [=](double square, double d) {
                    const double variance = square / d + eps;
                    return eps / (variance * std::sqrt(variance));
                });
            if (gamma == nullptr) return known;
            Array<double>& product = known[0].product;
            for (std::size_t i = 0; i < product.size(); ++i)
                product.data()[i] *= offset + gamma->data()[i % gamma->size()];
            if (offset == 0) known.push_back(homogeneous("gamma", 1));
            return known;
        })
        .with_lines_in_storage(rounded);
}

} // namespace chalkgrad
#endif
