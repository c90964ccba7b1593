// amax, amin, logsumexp over any axes.
#include <chalkgrad/ops/reduce/reduction.hpp>
#include <chalkgrad/ops/reduce/sum_exp.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// y = s max(s x), s = 1 for the largest and −1 for the smallest. m = [x = y] marks who won: x̄ = ȳ m/Σm.
template <class T> void extreme_row(std::size_t n, bool along, T s, const T* x, T* y) {
    if (along) {
        const T m = s * max<T>(n, [=](std::size_t i) FAST { return s * x[i]; });
        *y = s * m > s * *y || m != m ? m : *y;
    } else {
        each<T>(n, [=](std::size_t i) FAST { y[i] = s * x[i] > s * y[i] || x[i] != x[i] ? x[i] : y[i]; });
    }
}
template <class T> void winners_row(std::size_t n, bool along, const T* x, const T* y, wide_t<T>* winners) {
    accumulate<T>(n, along, winners, [=](std::size_t i, std::size_t k) FAST { return x[i] == y[k] ? T(1) : T(0); });
}
template <class T>
void extreme_row_gx(std::size_t n, bool along, const T* x, const T* y, const T* winners, const T* gy, T* gx) {
    spread(n, along, gx, [=](std::size_t i, std::size_t k) FAST { return x[i] == y[k] ? gy[k] / winners[k] : T(0); });
}

// y = m + l, l = log Σ exp(x − m). Vary x: dy = Σ P dx with P = exp((x − m) − l), so x̄ = ȳ P. All −inf: l counts as +inf
// here, and P = 0.
template <class T> void exp_sum_row(std::size_t n, bool along, const T* x, const T* m, wide_t<T>* y) {
    if (along) *y += sum_exp<T>(n, [=](std::size_t i) FAST { return x[i] - *m; });
    else each<T>(n, [=](std::size_t i) FAST { y[i] += exp(x[i] - m[i]); });
}
template <class T>
void logsumexp_row_gx(std::size_t n, bool along, const T* x, const T* m, const T* l, const T* gy, T* gx) {
    spread(n, along, gx, [=](std::size_t i, std::size_t k) FAST { return gy[k] * exp((x[i] - m[k]) - l[k]); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(extreme_row, winners_row, extreme_row_gx, exp_sum_row, logsumexp_row_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/reduce/additive_mask.hpp>

namespace chalkgrad {
namespace {

template <int sign> struct Extreme : Reduction {
    static constexpr const char* name = sign > 0 ? "amax" : "amin";
    static constexpr const char* inputs[] = {"x"};

    Shape shape(Shapes in) const { return result(name, in, Nothing::refused); }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        const In<T> x = in[0];
        std::fill_n(y.data, y.size(), T(-sign * HUGE_VAL));
        run_kernel(*x.shape, kernel::extreme_row<T>, T(sign), of_x(x.data), of_y(y.data));
        if constexpr (std::is_same_v<T, Dual<double>>) { // a tie varies by the mean of those who won
            Scratch<T> winners(y.size());
            count_winners(x, In<T>{y.data, y.shape}, winners.data());
            for (std::size_t k = 0; k < y.size(); ++k) y[k].d = 0;
            each_element(*x.shape, [&](std::size_t i, std::size_t k) {
                if (x[i] == y[k]) y[k].d += x[i].d / winners[k].v;
            });
        }
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        const In<T> x = in[0];
        Scratch<T> winners(y.size());
        count_winners(x, y, winners.data());
        run_kernel(*x.shape, kernel::extreme_row_gx<T>, of_x(x.data), of_y(y.data), of_y(winners.data()), of_y(gy.data),
            of_x(gx[0].data));
    }
    /// An element lies above its kink where it alone is the answer, and on it where it shares.
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        const In<T> x = in[0];
        const Shape shape = kept(*x.shape);
        Scratch<T> y(shape.size()), winners(shape.size());
        forward<T>(in, Out<T>{y.data(), &shape}, nullptr);
        count_winners(x, In<T>{y.data(), &shape}, winners.data());
        each_element(*x.shape, [&](std::size_t i, std::size_t k) {
            out.decide(x[i] != y[k] ? -1 : winners[k] == 1 ? 1 : 0);
        });
    }

private:
    template <class T> void count_winners(In<T> x, In<T> y, T* winners) const {
        collect(*x.shape, T(1), winners, kernel::winners_row<T>, of_x(x.data), of_y(y.data));
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
    std::size_t saved(Shapes in) const { return 2 * kept(in[0]).size(); } // m, then l
    template <class T> void forward(Ins<T> in, Out<T> y, T* m) const {
        const Masked<T> x(in[0], in[1]);
        const Shape& shape = *in[0].shape;
        T* l = m + y.size();
        std::fill_n(m, y.size(), T(-HUGE_VAL));
        run_kernel(shape, kernel::extreme_row<T>, T(1), of_x(x.data()), of_y(m));
        for (std::size_t k = 0; k < y.size(); ++k)
            if (!(m[k] - m[k] == 0)) m[k] = T(0); // ±inf and NaN come out right without a shift
        collect(shape, T(1), l, kernel::exp_sum_row<T>, of_x(x.data()), of_y(m));
        using base::log;
        for (std::size_t k = 0; k < y.size(); ++k) {
            const T s = l[k];
            l[k] = log(s);
            y[k] = m[k] + l[k];
            if (s == 0) l[k] = T(HUGE_VAL);
        }
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* m, Outs<T> gx) const {
        const Masked<T> x(in[0], in[1]);
        const T* l = m + y.size();
        T* g = gx[0].data;
        run_kernel(*in[0].shape, kernel::logsumexp_row_gx<T>, of_x(x.data()), of_y(m), of_y(l), of_y(gy.data), of_x(g));
        if (gx[1]) mask_gradient<T>(*in[0].shape, g, gx[1]);
    }
};

} // namespace

template <class T> Var<T> amax(const Var<T>& x, const Axes& axes, bool keepdims) {
    return apply(Extreme<1>{{axes, keepdims}}, x);
}
template <class T> Var<T> amin(const Var<T>& x, const Axes& axes, bool keepdims) {
    return apply(Extreme<-1>{{axes, keepdims}}, x);
}
template <class T> Var<T> logsumexp(const Var<T>& x, const Axes& axes, bool keepdims, const Var<T>& mask) {
    return apply(Logsumexp{{axes, keepdims}}, x, mask);
}

template <class T> Var<T> logsumexp_composed(const Var<T>& x, const Axes& axes, bool keepdims, const Var<T>& mask) {
    const Var<T> z = mask ? x + mask : x;
    const Var<T> m = amax(z, axes, true), y = m + log(sum(exp(z - m), axes, true));
    return keepdims ? y : sum(y, axes); // over extents of 1: only the shape changes
}

CHALKGRAD_INSTANCES(amax, amin, logsumexp, logsumexp_composed)

CatalogEntry amax_entry() { return reduction_entry<Extreme<1>>("amax", "largest x over axes", "NumPy", 1, 1); }
CatalogEntry amin_entry() { return reduction_entry<Extreme<-1>>("amin", "smallest x over axes", "NumPy", 1, 1); }
CatalogEntry logsumexp_entry() {
    return entry("logsumexp", "log of sum of exp(x + mask) over axes", "§7", "x mask|",
        [](Settings& c) {
            c.ignore({"input"});
            return rule_of(Logsumexp{reduction_of(c)});
        })
        .with_samples([](Generator& rng) {
            std::vector<Sample> samples = reduction_samples(rng),
                                more = drawn(
                                    rng, {"learned_mask: x(2,3,4) mask(3,1) axes=[-1]",
                                             "hidden_entries: | mask(5) | x(3,5) axes=[-1]", "large: x(2,3) axes=[0]"});
            Array<double>& hidden = more[1].constants[0].values;
            hidden(1) = hidden(4) = -HUGE_VAL;
            more[2].inputs[0].values += 1000.0;
            samples.insert(samples.end(), more.begin(), more.end());
            return samples;
        })
        .with_twin([](auto& c) {
            c.ignore({"input"});
            const Reduction r = reduction_of(c);
            return logsumexp_composed(c.in("x"), r.axes, r.keepdims, c.maybe_constant("mask"));
        })
        .with_identities([](const Sample& s) { return std::vector<Identity>{moves_along("x", s, 1)}; });
}

} // namespace chalkgrad
#endif
