// sum, mean, var_biased, amax, amin, logsumexp over any axes. x is read in contiguous rows; along the last axes a row
// belongs to one element of y, else to a row of y, one element each. k below is that element: 0, or i.
#include <chalkgrad/autograd/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T, class Term>
FAST inline void accumulate(std::size_t n, bool along, T* y, Term term) {
    if (along)
        *y += sum<T>(n, [=](std::size_t i) FAST { return term(i, std::size_t(0)); });
    else
        each<T>(n, [=](std::size_t i) FAST { y[i] += term(i, i); });
}
template <class T, class Term>
FAST inline void spread(std::size_t n, bool along, T* gx, Term term) {
    if (along)
        each<T>(n, [=](std::size_t i) FAST { gx[i] = term(i, std::size_t(0)); });
    else
        each<T>(n, [=](std::size_t i) FAST { gx[i] = term(i, i); });
}

// y = Σ x, so dy = Σ dx and x̄ = ȳ; the mean divides both by N.
template <class T>
void sum_row(std::size_t n, bool along, const T* x, T* y) {
    accumulate(n, along, y, [=](std::size_t i, std::size_t) FAST { return x[i]; });
}
template <class T>
void sum_row_gx(std::size_t n, bool along, T count, const T* gy, T* gx) {
    spread(n, along, gx, [=](std::size_t, std::size_t k) FAST { return gy[k] / count; });
}

// v = Σ d²/N with d = (x − μ) − δ: μ is the rounded mean, δ the mean of x − μ, what rounding left over. Σd = 0, so
// vary x: dv = 2 Σ d (dx − dμ)/N = 2 Σ d dx/N, and x̄ = 2 v̄ d/N.
template <class T>
void deviation_row(std::size_t n, bool along, const T* x, const T* mu, T* delta) {
    accumulate(n, along, delta, [=](std::size_t i, std::size_t k) FAST { return x[i] - mu[k]; });
}
template <class T>
void variance_row(std::size_t n, bool along, const T* x, const T* mu, const T* delta, T* y) {
    accumulate(n, along, y, [=](std::size_t i, std::size_t k) FAST {
        const T d = (x[i] - mu[k]) - delta[k];
        return d * d;
    });
}
template <class T>
void variance_row_gx(std::size_t n, bool along, T count, const T* x, const T* mu, const T* delta, const T* gy, T* gx) {
    spread(n, along, gx, [=](std::size_t i, std::size_t k) FAST { return T(2) * gy[k] / count * ((x[i] - mu[k]) - delta[k]); });
}

// y = s max(s x), s = 1 for the largest and −1 for the smallest. m = [x = y] marks who won: x̄ = ȳ m/Σm.
template <class T>
void extreme_row(std::size_t n, bool along, T s, const T* x, T* y) {
    if (along) {
        const T m = s * max<T>(n, [=](std::size_t i) FAST { return s * x[i]; });
        *y = s * m > s * *y || m != m ? m : *y;
    } else {
        each<T>(n, [=](std::size_t i) FAST { y[i] = s * x[i] > s * y[i] || x[i] != x[i] ? x[i] : y[i]; });
    }
}
template <class T>
void winners_row(std::size_t n, bool along, const T* x, const T* y, T* winners) {
    accumulate(n, along, winners, [=](std::size_t i, std::size_t k) FAST { return x[i] == y[k] ? T(1) : T(0); });
}
template <class T>
void extreme_row_gx(std::size_t n, bool along, const T* x, const T* y, const T* winners, const T* gy, T* gx) {
    spread(n, along, gx, [=](std::size_t i, std::size_t k) FAST { return x[i] == y[k] ? gy[k] / winners[k] : T(0); });
}

// y = m + log Σ exp(x − m). Vary x: dy = Σ P dx with P = exp(x − y), so x̄ = ȳ P. All −inf: P = 0.
template <class T>
void exp_sum_row(std::size_t n, bool along, const T* x, const T* m, T* y) {
    accumulate(n, along, y, [=](std::size_t i, std::size_t k) FAST { return exp(x[i] - m[k]); });
}
template <class T>
void logsumexp_row_gx(std::size_t n, bool along, const T* x, const T* y, const T* gy, T* gx) {
    const T nothing = -static_cast<T>(__builtin_inf());
    spread(n, along, gx, [=](std::size_t i, std::size_t k) FAST {
        const T g = gy[k] * exp(x[i] - y[k]);
        return y[k] == nothing ? T(0) : g;
    });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(sum_row)
CHALKGRAD_KERNEL(sum_row_gx)
CHALKGRAD_KERNEL(deviation_row)
CHALKGRAD_KERNEL(variance_row)
CHALKGRAD_KERNEL(variance_row_gx)
CHALKGRAD_KERNEL(extreme_row)
CHALKGRAD_KERNEL(winners_row)
CHALKGRAD_KERNEL(extreme_row_gx)
CHALKGRAD_KERNEL(exp_sum_row)
CHALKGRAD_KERNEL(logsumexp_row_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/apply.hpp>
#include <chalkgrad/ops/additive_mask.hpp>
#include <chalkgrad/ops/arithmetic.hpp>
#include <chalkgrad/ops/catalog.hpp>
#include <chalkgrad/ops/reduce.hpp>

namespace chalkgrad {

Axes::Axes(const std::vector<std::ptrdiff_t>& axes) {
    if (axes.size() > Shape::max_rank) throw Error("axes: more than 8 axes; no array has so many");
    for (const std::ptrdiff_t axis : axes) // far outside stays outside
        axes_[count_++] = static_cast<std::int8_t>(std::clamp<std::ptrdiff_t>(axis, -100, 100));
}

Shape Axes::kept(const char* op, const Shape& x) const {
    bool reduced[Shape::max_rank] = {};
    for (std::size_t i = 0; i < count_; ++i) {
        bool& place = reduced[normalize_axis(op, axes_[i], x)];
        if (place) throw Error(std::string(op) + ": axis " + std::to_string(axes_[i]) + " is given twice; name each axis once");
        place = true;
    }
    Shape kept;
    for (std::size_t i = 0; i < x.rank(); ++i) kept.push_back(count_ == 0 || reduced[i] ? 1 : x[i]);
    return kept;
}

Shape Axes::result(const char* op, const Shape& x, bool keepdims) const {
    Shape y = kept(op, x);
    if (keepdims) return y;
    Shape without;
    if (count_ == 0) return without;
    for (std::size_t i = 0; i < x.rank(); ++i) {
        bool reduced = false;
        for (std::size_t k = 0; k < count_; ++k) reduced |= normalize_axis(op, axes_[k], x) == i;
        if (!reduced) without.push_back(x[i]);
    }
    return without;
}

Attribute Axes::attribute() const {
    if (count_ == 0) return {};
    return std::vector<double>(axes_.begin(), axes_.begin() + count_);
}

namespace {

/// What all reductions share: fields, shape, and the walk over rows.
struct Reduction {
    Axes axes;
    bool keepdims;

    void attributes(Attributes& out) const {
        out.set("axes", axes.attribute());
        out.set("keepdims", keepdims);
    }

protected:
    enum class Nothing { allowed, refused };
    Shape result(const char* op, Shapes in, Nothing nothing) const {
        const Shape kept = axes.kept(op, in[0]);
        if (nothing == Nothing::refused)
            for (std::size_t i = 0; i < kept.rank(); ++i)
                if (kept[i] == 1 && in[0][i] == 0)
                    throw Error(std::string(op) + ": x has shape " + to_string(in[0]) + " and axis " + std::to_string(i) +
                                ", which is reduced, is empty; there is no answer over nothing");
        return axes.result(op, in[0], keepdims);
    }
    /// Calls f(n, along, place in x, place in y) for each row.
    template <class F>
    void each_row(const char* op, const Shape& x, F&& f) const {
        const Shape kept = axes.kept(op, x);
        const BroadcastRows rows(x, kept, x);
        const bool along = rows.b_is_number();
        rows.each_row([&](const BroadcastRows::Row& r) { f(r.n, along, r.a, r.b); });
    }
    /// How many elements of x one element of y is made of.
    static std::size_t count(const Shape& x, const Shape& y) { return y.size() == 0 ? 1 : x.size() / y.size(); }
};

struct Sum : Reduction {
    static constexpr const char* name = "sum";
    static constexpr const char* inputs[] = {"x"};

    Shape shape(Shapes in) const { return result(name, in, Nothing::allowed); }
    template <class T>
    void forward(Ins<T> in, Out<T> y, T*) const {
        const In<T> x = in[0];
        if (x.size() == 1) {
            y[0] = x[0];
            return;
        }
        std::fill_n(y.data, y.size(), T(0));
        each_row(name, *x.shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
            kernel::sum_row<T>(n, along, x.data + i, y.data + k);
        });
    }
    template <class T>
    void vjp(Ins<T>, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        each_row(name, *gx[0].shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
            kernel::sum_row_gx<T>(n, along, T(1), gy.data + k, gx[0].data + i);
        });
    }
};

struct Mean : Reduction {
    static constexpr const char* name = "mean";
    static constexpr const char* inputs[] = {"x"};

    Shape shape(Shapes in) const { return result(name, in, Nothing::refused); }
    template <class T>
    void forward(Ins<T> in, Out<T> y, T*) const {
        const In<T> x = in[0];
        std::fill_n(y.data, y.size(), T(0));
        each_row(name, *x.shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
            kernel::sum_row<T>(n, along, x.data + i, y.data + k);
        });
        const T n(count(*x.shape, *y.shape));
        for (std::size_t k = 0; k < y.size(); ++k) y[k] /= n;
    }
    template <class T>
    void vjp(Ins<T>, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        const T n(count(*gx[0].shape, *y.shape));
        each_row(name, *gx[0].shape, [&](std::size_t m, bool along, std::size_t i, std::size_t k) {
            kernel::sum_row_gx<T>(m, along, n, gy.data + k, gx[0].data + i);
        });
    }
};

struct VarBiased : Reduction {
    static constexpr const char* name = "var_biased";
    static constexpr const char* inputs[] = {"x"};

    Shape shape(Shapes in) const { return result(name, in, Nothing::refused); }
    std::size_t saved(Shapes in) const { return 2 * axes.kept(name, in[0]).size(); } // μ, then δ
    template <class T>
    void forward(Ins<T> in, Out<T> y, T* mu) const {
        const In<T> x = in[0];
        const T n(count(*x.shape, *y.shape));
        T* delta = mu + y.size();
        std::fill_n(mu, 2 * y.size(), T(0));
        std::fill_n(y.data, y.size(), T(0));
        each_row(name, *x.shape, [&](std::size_t m, bool along, std::size_t i, std::size_t k) {
            kernel::sum_row<T>(m, along, x.data + i, mu + k);
        });
        for (std::size_t k = 0; k < y.size(); ++k) mu[k] /= n;
        each_row(name, *x.shape, [&](std::size_t m, bool along, std::size_t i, std::size_t k) {
            kernel::deviation_row<T>(m, along, x.data + i, mu + k, delta + k);
        });
        for (std::size_t k = 0; k < y.size(); ++k) delta[k] /= n;
        each_row(name, *x.shape, [&](std::size_t m, bool along, std::size_t i, std::size_t k) {
            kernel::variance_row<T>(m, along, x.data + i, mu + k, delta + k, y.data + k);
        });
        for (std::size_t k = 0; k < y.size(); ++k) y[k] /= n;
    }
    template <class T>
    void vjp(Ins<T> in, In<T> y, In<T> gy, const T* mu, Outs<T> gx) const {
        const In<T> x = in[0];
        const T n(count(*x.shape, *y.shape));
        const T* delta = mu + y.size();
        each_row(name, *x.shape, [&](std::size_t m, bool along, std::size_t i, std::size_t k) {
            kernel::variance_row_gx<T>(m, along, n, x.data + i, mu + k, delta + k, gy.data + k, gx[0].data + i);
        });
    }
};

template <int sign>
struct Extreme : Reduction {
    static constexpr const char* name = sign > 0 ? "amax" : "amin";
    static constexpr const char* inputs[] = {"x"};

    Shape shape(Shapes in) const { return result(name, in, Nothing::refused); }
    template <class T>
    void forward(Ins<T> in, Out<T> y, T*) const {
        const In<T> x = in[0];
        std::fill_n(y.data, y.size(), T(-sign * HUGE_VAL));
        each_row(name, *x.shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
            kernel::extreme_row<T>(n, along, T(sign), x.data + i, y.data + k);
        });
        if constexpr (std::is_same_v<T, Dual<double>>) { // a tie varies by the mean of those who won
            Scratch<T> winners(y.size());
            count_winners(x, In<T>{y.data, y.shape}, winners.data());
            for (std::size_t k = 0; k < y.size(); ++k) y[k].d = 0;
            each_row(name, *x.shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
                for (std::size_t j = 0; j < n; ++j) {
                    T& winner = y[along ? k : k + j];
                    if (x[i + j] == winner) winner.d += x[i + j].d / winners[along ? k : k + j].v;
                }
            });
        }
    }
    template <class T>
    void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        const In<T> x = in[0];
        Scratch<T> winners(y.size());
        count_winners(x, y, winners.data());
        each_row(name, *x.shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
            kernel::extreme_row_gx<T>(n, along, x.data + i, y.data + k, winners.data() + k, gy.data + k, gx[0].data + i);
        });
    }
    /// An element lies above its kink where it alone is the answer, and on it where it shares.
    template <class T>
    void sides(Ins<T> in, Sides& out) const {
        const In<T> x = in[0];
        const Shape kept = axes.kept(name, *x.shape);
        Scratch<T> y(kept.size()), winners(kept.size());
        forward<T>(in, Out<T>{y.data(), &kept}, nullptr);
        count_winners(x, In<T>{y.data(), &kept}, winners.data());
        each_row(name, *x.shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
            for (std::size_t j = 0; j < n; ++j) {
                const std::size_t l = along ? k : k + j;
                out.decide(x[i + j] != y[l] ? -1 : winners[l] == 1 ? 1 : 0);
            }
        });
    }

private:
    template <class T>
    void count_winners(In<T> x, In<T> y, T* winners) const {
        std::fill_n(winners, y.size(), T(0));
        each_row(name, *x.shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
            kernel::winners_row<T>(n, along, x.data + i, y.data + k, winners + k);
        });
    }
};

struct Logsumexp : Reduction {
    static constexpr const char* name = "logsumexp";
    static constexpr const char* inputs[] = {"x", "mask"};
    static constexpr std::size_t required = 1;

    Shape shape(Shapes in) const {
        if (in.has(1)) require_mask(name, in[0], in[1]);
        return result(name, in, Nothing::allowed);
    }
    template <class T>
    void forward(Ins<T> in, Out<T> y, T*) const {
        const Masked<T> x(in[0], in[1]);
        const Shape& shape = *in[0].shape;
        Scratch<T> m(y.size());
        std::fill_n(m.data(), y.size(), T(-HUGE_VAL));
        each_row(name, shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
            kernel::extreme_row<T>(n, along, T(1), x.data() + i, m.data() + k);
        });
        for (std::size_t k = 0; k < y.size(); ++k) {
            if (!(m[k] - m[k] == 0)) m[k] = T(0); // ±inf and NaN come out right without a shift
            y[k] = T(0);
        }
        each_row(name, shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
            kernel::exp_sum_row<T>(n, along, x.data() + i, m.data() + k, y.data + k);
        });
        using base::log;
        for (std::size_t k = 0; k < y.size(); ++k) y[k] = m[k] + log(y[k]);
    }
    template <class T>
    void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        const Masked<T> x(in[0], in[1]);
        Scratch<T> buffer(gx[0] ? 0 : in[0].size());
        T* g = gx[0] ? gx[0].data : buffer.data();
        each_row(name, *in[0].shape, [&](std::size_t n, bool along, std::size_t i, std::size_t k) {
            kernel::logsumexp_row_gx<T>(n, along, x.data() + i, y.data + k, gy.data + k, g + i);
        });
        if (gx[1]) mask_gradient<T>(*in[0].shape, g, gx[1]);
    }
};

} // namespace

template <class T>
Var<T> sum(const Var<T>& x, const Axes& axes, bool keepdims) {
    return apply(Sum{{axes, keepdims}}, x);
}
template <class T>
Var<T> mean(const Var<T>& x, const Axes& axes, bool keepdims) {
    return apply(Mean{{axes, keepdims}}, x);
}
template <class T>
Var<T> var_biased(const Var<T>& x, const Axes& axes, bool keepdims) {
    return apply(VarBiased{{axes, keepdims}}, x);
}
template <class T>
Var<T> amax(const Var<T>& x, const Axes& axes, bool keepdims) {
    return apply(Extreme<1>{{axes, keepdims}}, x);
}
template <class T>
Var<T> amin(const Var<T>& x, const Axes& axes, bool keepdims) {
    return apply(Extreme<-1>{{axes, keepdims}}, x);
}
template <class T>
Var<T> logsumexp(const Var<T>& x, const Axes& axes, bool keepdims, const Var<T>& mask) {
    return apply(Logsumexp{{axes, keepdims}}, x, mask);
}

template <class T>
Var<T> var_biased_composed(const Var<T>& x, const Axes& axes, bool keepdims) {
    return mean(square(x - mean(x, axes, true)), axes, keepdims);
}
template <class T>
Var<T> logsumexp_composed(const Var<T>& x, const Axes& axes, bool keepdims, const Var<T>& mask) {
    const Var<T> z = mask ? x + mask : x;
    const Var<T> m = amax(z, axes, true), y = m + log(sum(exp(z - m), axes, true));
    return keepdims ? y : sum(y, axes); // over extents of 1: only the shape changes
}

#define CHALKGRAD_INSTANTIATE(T)                                                                                                        \
    template Var<T> sum(const Var<T>&, const Axes&, bool);                                                                              \
    template Var<T> mean(const Var<T>&, const Axes&, bool);                                                                             \
    template Var<T> var_biased(const Var<T>&, const Axes&, bool);                                                                       \
    template Var<T> amax(const Var<T>&, const Axes&, bool);                                                                             \
    template Var<T> amin(const Var<T>&, const Axes&, bool);                                                                             \
    template Var<T> logsumexp(const Var<T>&, const Axes&, bool, const Var<T>&);                                                         \
    template Var<T> var_biased_composed(const Var<T>&, const Axes&, bool);                                                              \
    template Var<T> logsumexp_composed(const Var<T>&, const Axes&, bool, const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)

namespace {

template <class T>
Axes axes_of(Arguments<T>& c) {
    const auto axes = c.integers("axes");
    return axes ? Axes(*axes) : Axes();
}

/// Rows, columns, axes that are not neighbours, everything; rows longer than four vectors.
std::vector<Sample> reduction_samples(Generator& rng) {
    const auto axes = [](std::vector<double> list) { return Attribute(std::move(list)); };
    return {{"last_axis", {{"x", rng.standard_normal({3, 11})}}, {}, {{"axes", axes({-1})}, {"keepdims", true}}},
            {"first_axis", {{"x", rng.standard_normal({4, 5})}}, {}, {{"axes", axes({0})}}},
            {"apart", {{"x", rng.standard_normal({2, 3, 4})}}, {}, {{"axes", axes({0, 2})}}},
            {"middle", {{"x", rng.standard_normal({2, 3, 3})}}, {}, {{"axes", axes({1})}, {"keepdims", true}}},
            {"all", {{"x", rng.standard_normal({3, 7})}}, {}, {{"axes", Attribute()}}},
            {"one", {{"x", rng.standard_normal({3, 1})}}, {}, {{"axes", axes({1})}}}};
}

} // namespace

CatalogEntry sum_entry() {
    return entry("sum", "sum of x over axes", "NumPy",
                 [](auto& c) { return sum(c.in("x"), axes_of(c), c.flag("keepdims", false)); }, reduction_samples);
}
CatalogEntry mean_entry() {
    return entry("mean", "sum of x over axes / N", "NumPy",
                 [](auto& c) { return mean(c.in("x"), axes_of(c), c.flag("keepdims", false)); }, reduction_samples);
}
CatalogEntry amax_entry() {
    return entry("amax", "largest x over axes", "NumPy",
                 [](auto& c) { return amax(c.in("x"), axes_of(c), c.flag("keepdims", false)); }, reduction_samples);
}
CatalogEntry amin_entry() {
    return entry("amin", "smallest x over axes", "NumPy",
                 [](auto& c) { return amin(c.in("x"), axes_of(c), c.flag("keepdims", false)); }, reduction_samples);
}
CatalogEntry var_biased_entry() {
    return entry("var_biased", "sum of (x - mean)^2 over axes / N", "§5",
                 [](auto& c) { return var_biased(c.in("x"), axes_of(c), c.flag("keepdims", false)); }, reduction_samples,
                 [](auto& c) { return var_biased_composed(c.in("x"), axes_of(c), c.flag("keepdims", false)); });
}
CatalogEntry logsumexp_entry() {
    return entry("logsumexp", "log of sum of exp(x + mask) over axes", "§7",
                 [](auto& c) {
                     c.ignore({"input"});
                     return logsumexp(c.in("x"), axes_of(c), c.flag("keepdims", false), c.maybe_constant("mask"));
                 },
                 [](Generator& rng) {
                     std::vector<Sample> samples = reduction_samples(rng);
                     samples.push_back({"learned_mask", {{"x", rng.standard_normal({2, 3, 4})}, {"mask", rng.standard_normal({3, 1})}}, {}, {{"axes", std::vector<double>{-1}}}});
                     Array<double> hidden = rng.standard_normal({5});
                     hidden(1) = hidden(4) = -HUGE_VAL;
                     samples.push_back({"hidden_entries", {{"x", rng.standard_normal({3, 5})}}, {{"mask", hidden}}, {{"axes", std::vector<double>{-1}}}});
                     samples.push_back({"large", {{"x", 1000.0 + rng.standard_normal({2, 3})}}, {}, {{"axes", std::vector<double>{0}}}});
                     return samples;
                 },
                 [](auto& c) {
                     c.ignore({"input"});
                     return logsumexp_composed(c.in("x"), axes_of(c), c.flag("keepdims", false), c.maybe_constant("mask"));
                 });
}

} // namespace chalkgrad
#endif
