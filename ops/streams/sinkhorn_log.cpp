// sinkhorn_log:  fᵢ ← log Σⱼ exp(Lᵢⱼ − gⱼ),  gⱼ ← log Σᵢ exp(Lᵢⱼ − fᵢ),  k times each;  y = exp(L − f − g)
#include <chalkgrad/ops/reduce/sum_exp.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// One half-step for all lines at once: potential[i] = log Σⱼ exp(m[j][i] − other[j]), from the largest term of each line. A
// line of −inf has no mass to share out: its potential is 0 and its entries stay 0.
template <class T> FAST inline void half_step(std::size_t n, const T* m, const T* other, T* potential, T* total) {
    const T least(-__builtin_inf());
    each<T>(n, [=](std::size_t i) FAST { potential[i] = least; });
    for (std::size_t j = 0; j < n; ++j)
        each<T>(n, [=](std::size_t i) FAST {
            const T v = m[j * n + i] - other[j];
            potential[i] = v > potential[i] ? v : potential[i];
        });
    each<T>(n, [=](std::size_t i) FAST {
        potential[i] = potential[i] == least ? T(0) : potential[i];
        total[i] = 0;
    });
    for (std::size_t j = 0; j < n; ++j)
        each<T>(n, [=](std::size_t i) FAST { total[i] += exp_of_negative(m[j * n + i] - other[j] - potential[i]); });
    each<T>(n, [=](std::size_t i) FAST { potential[i] = total[i] == 0 ? T(0) : potential[i] + log(total[i]); });
}

/// exp(x) of an entry that the last half-step left at 1 or below, but for rounding.
template <class T> FAST inline T sinkhorn_share(T x) {
    if constexpr (is_simd<T>) x = x > 0 ? T(0) : x;
    return exp_of_negative(x);
}

/// body(n), with n a constant for the usual numbers of streams: the compiler then unrolls its loops.
template <std::size_t n> struct Constant {
    FAST constexpr operator std::size_t() const { return n; }
};
template <class F> FAST inline void with_extent(std::size_t n, F body) {
    if (n == 4) body(Constant<4>());
    else if (n == 2) body(Constant<2>());
    else body(n);
}

// `potentials` holds 2k rows of n where all are kept, else 2. work: n² + 2n. Rows are summed in a transposed copy, so that
// both half-steps run along memory.
template <class T>
void sinkhorn_forward(
    std::size_t extent, std::size_t k, bool rows_first, bool keep, const T* logits, T* potentials, T* work, T* y) {
    with_extent(extent, [=](auto constant) FAST {
        const std::size_t n = constant;
        T *const transposed = work, *const total = work + n * n, *const none = total + n;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) transposed[j * n + i] = logits[i * n + j];
        each<T>(n, [=](std::size_t i) FAST { none[i] = 0; });
        const T* other = none;
        T* own = potentials;
        for (std::size_t t = 0; t < 2 * k; ++t) {
            own = potentials + (keep ? t : t % 2) * n;
            half_step<T>(n, (t % 2 == 0) == rows_first ? transposed : logits, other, own, total);
            if (t + 1 < 2 * k) other = own;
        }
        const T *const f = rows_first ? other : own, *const g = rows_first ? own : other;
        for (std::size_t i = 0; i < n; ++i) {
            const T fi = f[i];
            each<T>(n, [=](std::size_t j) FAST { y[i * n + j] = sinkhorn_share(logits[i * n + j] - fi - g[j]); });
        }
    });
}

// With D the tangent of log y, a half-step is D ← D − Σ(P D) along its lines, where P = exp(L − f − g) just after it. Its
// transpose, with G the cotangent of log y:  G ← G − P Σ(G). Start at G = ȳ y, go through the half-steps backwards, end at L̄.
// work: 2n.
template <class T>
void sinkhorn_unrolled(std::size_t extent, std::size_t k, bool rows_first, const T* logits, const T* potentials,
    T* work, const T* y, const T* gy, T* g) {
    with_extent(extent, [=](auto constant) FAST {
        const std::size_t n = constant;
        T *const total = work, *const none = work + n;
        each<T>(n * n, [=](std::size_t i) FAST { g[i] = y[i] == 0 ? T(0) : gy[i] * y[i]; });
        each<T>(n, [=](std::size_t i) FAST { none[i] = 0; });
        for (std::size_t t = 2 * k; t-- > 0;) {
            const T *const own = potentials + t * n, *const other = t == 0 ? none : own - n;
            const bool of_rows = (t % 2 == 0) == rows_first;
            const T *const row = of_rows ? own : other, *const column = of_rows ? other : own;
            if (!of_rows) {
                each<T>(n, [=](std::size_t j) FAST { total[j] = 0; });
                for (std::size_t i = 0; i < n; ++i) each<T>(n, [=](std::size_t j) FAST { total[j] += g[i * n + j]; });
            }
            for (std::size_t i = 0; i < n; ++i) {
                const T fi = row[i];
                const auto p = [=](std::size_t j) FAST { return sinkhorn_share(logits[i * n + j] - fi - column[j]); };
                if (of_rows) {
                    const T s = sum<T>(n, [=](std::size_t j) FAST { return g[i * n + j]; });
                    each<T>(n, [=](std::size_t j) FAST { g[i * n + j] -= s * p(j); });
                } else {
                    each<T>(n, [=](std::size_t j) FAST { g[i * n + j] -= total[j] * p(j); });
                }
            }
        }
    });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(sinkhorn_forward, sinkhorn_unrolled)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <limits>

#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

namespace chalkgrad {
namespace {

/// Solves a x = b in place of b; `a` is used up. Of n equations, symmetric with no negative eigenvalue, elimination needs no
/// exchange of rows. A direction that they say nothing about gets 0.
template <class T> void solve(std::size_t n, T* a, T* b) {
    const T nothing = T(static_cast<double>(n)) * std::numeric_limits<T>::epsilon();
    for (std::size_t c = 0; c < n; ++c) {
        const T pivot = a[c * n + c];
        if (pivot <= nothing) continue;
        for (std::size_t i = 0; i < n; ++i) {
            if (i == c) continue;
            const T factor = a[i * n + c] / pivot;
            for (std::size_t j = c; j < n; ++j) a[i * n + j] -= factor * a[c * n + j];
            b[i] -= factor * b[c];
        }
    }
    for (std::size_t c = 0; c < n; ++c) b[c] = a[c * n + c] <= nothing ? T(0) : b[c] / a[c * n + c];
}

// At the limit both line sums of y = A stay 1:  dA = A (dL − α 1ᵀ − 1 βᵀ) with α = (A dL) 1 − A β and likewise β. Eliminating
// α leaves (1 − AᵀA) β = …; adding 11ᵀ/n fixes the constant that may move between α and β. The map is its own transpose
// between log y and L, so with G = ȳ A, p = G 1, q = Gᵀ 1:
//     (1 − AᵀA + 11ᵀ/n) β = q − Aᵀ p,   α = p − A β,   L̄ = G − A (α 1ᵀ + 1 βᵀ)
template <class T> void implicit_vjp(std::size_t n, const T* y, const T* gy, T* g) {
    Scratch<T> work(n * n + 2 * n);
    T *const a = work.data(), *const alpha = a + n * n, *const beta = alpha + n;
    for (std::size_t i = 0; i < n; ++i) alpha[i] = beta[i] = T(0);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            const T term = g[i * n + j] = y[i * n + j] == T(0) ? T(0) : gy[i * n + j] * y[i * n + j];
            alpha[i] += term;
            beta[j] += term;
        }
    const T share = T(1) / T(static_cast<double>(n));
    for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; l < n; ++l) a[j * n + l] = j == l ? T(1) + share : share;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            const T y_ij = y[i * n + j];
            beta[j] -= y_ij * alpha[i];
            for (std::size_t l = 0; l < n; ++l) a[j * n + l] -= y_ij * y[i * n + l];
        }
    solve(n, a, beta);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) alpha[i] -= y[i * n + j] * beta[j];
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) g[i * n + j] -= y[i * n + j] * (alpha[i] + beta[j]);
}

struct SinkhornLog {
    static constexpr const char* name = "sinkhorn_log";
    static constexpr const char* inputs[] = {"m"};
    SinkhornOptions options;

    Shape shape(Shapes in) const {
        check_sinkhorn(name, "m", in[0], options);
        return in[0];
    }
    std::size_t saved(Shapes in) const {
        const std::size_t n = in[0].last();
        return n == 0 ? 0 : in[0].rows() / n * detail::sinkhorn_saved(n, options);
    }
    void attributes(Attributes& out) const { set_sinkhorn_attributes(out, options); }

    template <class T> void forward(Ins<T> in, Out<T> y, T* saved) const {
        const std::size_t n = y.last(), keep = detail::sinkhorn_saved(n, options);
        for (std::size_t at = 0; at < y.size(); at += n * n, saved += keep)
            detail::sinkhorn(n, options, in[0].data + at, saved, y.data + at);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* saved, Outs<T> gx) const {
        const std::size_t n = y.last(), keep = detail::sinkhorn_saved(n, options);
        for (std::size_t at = 0; at < y.size(); at += n * n, saved += keep)
            detail::sinkhorn_vjp(n, options, in[0].data + at, saved, y.data + at, gy.data + at, gx[0].data + at);
    }
};

} // namespace

namespace detail {

std::size_t sinkhorn_saved(std::size_t n, const SinkhornOptions& options) {
    return options.gradient == SinkhornGradient::implicit ? 0 : 2 * static_cast<std::size_t>(options.iterations) * n;
}

template <class T> void sinkhorn(std::size_t n, const SinkhornOptions& options, const T* logits, T* saved, T* y) {
    const bool keep = options.gradient == SinkhornGradient::unrolled;
    Scratch<T> work(n * n + 4 * n);
    kernel::sinkhorn_forward<T>(n, static_cast<std::size_t>(options.iterations),
        options.order == SinkhornOrder::rows_first, keep, logits, keep ? saved : work.data() + n * n + 2 * n,
        work.data(), y);
}

template <class T>
void sinkhorn_vjp(std::size_t n, const SinkhornOptions& options, const T* logits, const T* saved, const T* y,
    const T* gy, T* glogits) {
    if (options.gradient == SinkhornGradient::implicit) return implicit_vjp(n, y, gy, glogits);
    Scratch<T> work(2 * n);
    kernel::sinkhorn_unrolled<T>(n, static_cast<std::size_t>(options.iterations),
        options.order == SinkhornOrder::rows_first, logits, saved, work.data(), y, gy, glogits);
}

#define CHALKGRAD_INSTANTIATE(T)                                                   \
    template void sinkhorn(std::size_t, const SinkhornOptions&, const T*, T*, T*); \
    template void sinkhorn_vjp(std::size_t, const SinkhornOptions&, const T*, const T*, const T*, const T*, T*);
CHALKGRAD_FOR_WORK_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

} // namespace detail

void check_sinkhorn(const char* op, const char* what, const Shape& m, const SinkhornOptions& options) {
    if (m.rank() < 2 || m[m.rank() - 1] != m[m.rank() - 2])
        throw Error(fmt::format("{}: {} has shape {}; Sinkhorn's iteration needs square matrices, shape (…, n, n)", op,
            what, to_string(m)));
    if (options.iterations < 1)
        throw Error(
            fmt::format("{}: iterations is {}; it must be 1 or more (the mHC paper takes 20)", op, options.iterations));
}

SinkhornOptions sinkhorn_options(
    const char* op, std::ptrdiff_t iterations, std::string_view order, std::string_view gradient) {
    if (order != "rows_first" && order != "cols_first")
        throw Error(fmt::format("{}: order is '{}'; it must be rows_first or cols_first", op, order));
    if (gradient != "unrolled" && gradient != "implicit")
        throw Error(fmt::format("{}: gradient is '{}'; it must be unrolled or implicit", op, gradient));
    return {iterations, order == "rows_first" ? SinkhornOrder::rows_first : SinkhornOrder::cols_first,
        gradient == "unrolled" ? SinkhornGradient::unrolled : SinkhornGradient::implicit};
}

SinkhornOptions sinkhorn_options(const char* op, Settings& c) {
    return sinkhorn_options(
        op, c.integer("iterations", 20), c.word("order", "rows_first"), c.word("gradient", "unrolled"));
}

void set_sinkhorn_attributes(Attributes& out, const SinkhornOptions& options) {
    out.set("iterations", static_cast<double>(options.iterations));
    out.set("order", std::string(options.order == SinkhornOrder::rows_first ? "rows_first" : "cols_first"));
    if (options.gradient == SinkhornGradient::implicit) out.set("gradient", std::string("implicit"));
}

template <class T> Var<T> sinkhorn_log(const Var<T>& m, const SinkhornOptions& options) {
    return apply(SinkhornLog{options}, m);
}

template <class T> Var<T> sinkhorn_log_composed(const Var<T>& m, const SinkhornOptions& options) {
    check_sinkhorn("sinkhorn_log_composed", "m", m.shape(), options);
    const std::ptrdiff_t first = options.order == SinkhornOrder::rows_first ? -1 : -2, second = -3 - first;
    Var<T> l = m;
    for (std::ptrdiff_t t = 0; t < options.iterations; ++t) {
        l = l - logsumexp(l, {first}, true);
        l = l - logsumexp(l, {second}, true);
    }
    return exp(l);
}

CHALKGRAD_INSTANCES(sinkhorn_log, sinkhorn_log_composed)

CatalogEntry sinkhorn_log_entry() {
    const auto options = [](Settings& c) { return sinkhorn_options("sinkhorn_log", c); };
    return entry("sinkhorn_log", "exp(m) after k rounds of m -= logsumexp(m, rows), m -= logsumexp(m, columns)", "§12",
        "m", [=](Settings& c) { return rule_of(SinkhornLog{options(c)}); })
        .with_samples({"limit: m(3,3) iterations=80 order=rows_first gradient=implicit",
                          "four_streams: m(4,4) iterations=20 order=rows_first",
                          "columns_first: m(3,3) iterations=2 order=cols_first",
                          "one_round: m(5,5) iterations=1 order=rows_first",
                          "odd_columns_first: m(7,7) iterations=3 order=cols_first",
                          "batch: m(2,3,2,2) iterations=4 order=cols_first"},
            {},
            [](std::vector<Sample>& samples) { // the mild one is drawn first, and shown last
                samples[0].inputs[0].values *= 0.5;
                std::rotate(samples.begin(), samples.begin() + 1, samples.end());
            })
        .with_twin([=](auto& c) { return sinkhorn_log_composed(c.in("m"), options(c)); })
        .with_identities([](const Sample& s) {
            // A constant added along the lines that are normalised first is gone after the first half-step.
            const Array<double>& m = *s.input("m");
            const Attribute* order = s.attributes.find("order");
            const bool columns = order != nullptr && to_string(*order) == "cols_first";
            const std::size_t n = last_extent(m) * last_extent(m);
            return std::vector<Identity>{known_product(columns ? "J 1 = 0 in every column" : "J 1 = 0 in every row",
                                             "m", constant_along(columns ? -2 : -1, m)),
                block_diagonal(
                    "0 between matrices", "m", [=](std::size_t i) { return i / n; },
                    [=](std::size_t j) { return j / n; })};
        });
}

} // namespace chalkgrad
#endif
