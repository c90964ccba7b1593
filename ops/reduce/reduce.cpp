// sum, mean, var_biased over any axes.
#include <chalkgrad/ops/reduce/reduction.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// y = Σ x, so dy = Σ dx and x̄ = ȳ; the mean divides both by N.
template <class T> void sum_row(std::size_t n, bool along, const T* x, wide_t<T>* y) {
    accumulate<T>(n, along, y, [=](std::size_t i, std::size_t) FAST { return x[i]; });
}
template <class T> void sum_row_gx(std::size_t n, bool along, T count, const T* gy, T* gx) {
    spread(n, along, gx, [=](std::size_t, std::size_t k) FAST { return gy[k] / count; });
}

// y = Σ d²/N with d = (x − μ) − δ: μ is the rounded mean, δ the mean of x − μ, what rounding left over. Σd = 0, so
// vary x: dy = 2 Σ d (dx − dμ)/N = 2 Σ d dx/N, and x̄ = 2 ȳ d/N.
template <class T> void deviation_row(std::size_t n, bool along, const T* x, const T* mu, wide_t<T>* delta) {
    accumulate<T>(n, along, delta, [=](std::size_t i, std::size_t k) FAST { return x[i] - mu[k]; });
}
template <class T> void variance_row(std::size_t n, bool along, const T* x, const T* mu, const T* delta, wide_t<T>* y) {
    accumulate<T>(n, along, y, [=](std::size_t i, std::size_t k) FAST {
        const T d = (x[i] - mu[k]) - delta[k];
        return d * d;
    });
}
template <class T>
void variance_row_gx(std::size_t n, bool along, T count, const T* x, const T* mu, const T* delta, const T* gy, T* gx) {
    spread(n, along, gx,
        [=](std::size_t i, std::size_t k) FAST { return T(2) * gy[k] / count * ((x[i] - mu[k]) - delta[k]); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(sum_row, sum_row_gx, deviation_row, variance_row, variance_row_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace chalkgrad {

Axes::Axes(const std::vector<std::ptrdiff_t>& axes) : all_(false) {
    if (axes.size() > Shape::max_rank) throw Error("axes: more than 8 axes; no array has so many");
    for (const std::ptrdiff_t axis : axes) // far outside stays outside
        axes_[count_++] = static_cast<std::int8_t>(std::clamp<std::ptrdiff_t>(axis, -100, 100));
}

Shape Axes::result(const char* op, const Shape& x, bool keepdims) const {
    bool reduced[Shape::max_rank] = {};
    for (std::size_t i = 0; i < count_; ++i) {
        bool& place = reduced[normalize_axis(op, axes_[i], x)];
        if (place)
            throw Error(
                std::string(op) + ": axis " + std::to_string(axes_[i]) + " is given twice; name each axis once");
        place = true;
    }
    Shape y;
    for (std::size_t i = 0; i < x.rank(); ++i) {
        const bool stays = !all_ && !reduced[i];
        if (stays || keepdims) y.push_back(stays ? x[i] : 1);
    }
    return y;
}

Attribute Axes::attribute() const {
    if (all_) return {};
    return std::vector<double>(axes_.begin(), axes_.begin() + count_);
}

namespace {

template <bool divided> struct Sum : Reduction {
    static constexpr const char* name = divided ? "mean" : "sum";
    static constexpr const char* inputs[] = {"x"};

    Shape shape(Shapes in) const { return result(name, in, divided ? Nothing::refused : Nothing::allowed); }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        const In<T> x = in[0];
        if (x.size() == 1) y[0] = x[0];
        else collect(*x.shape, divisor<T>(x, y), y.data, kernel::sum_row<T>, of_x(x.data));
        if (!all_finite(y.data, y.size())) forward_in_wider(*this, in, y);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        run_kernel(*in[0].shape, kernel::sum_row_gx<T>, divisor<T>(in[0], y), of_y(gy.data), of_x(gx[0].data));
    }

private:
    template <class T> static T divisor(In<T> x, auto y) { return T(divided ? count(*x.shape, *y.shape) : 1); }
};

struct VarBiased : Reduction {
    static constexpr const char* name = "var_biased";
    static constexpr const char* inputs[] = {"x"};

    Shape shape(Shapes in) const { return result(name, in, Nothing::refused); }
    std::size_t saved(Shapes in) const { return 2 * kept(in[0]).size(); } // μ, then δ
    template <class T> void forward(Ins<T> in, Out<T> y, T* mu) const {
        const Shape& shape = *in[0].shape;
        const auto x = of_x(in[0].data);
        const T n(count(shape, *y.shape));
        T* const delta = mu + y.size();
        collect(shape, n, mu, kernel::sum_row<T>, x);
        collect(shape, n, delta, kernel::deviation_row<T>, x, of_y(mu));
        collect(shape, n, y.data, kernel::variance_row<T>, x, of_y(mu), of_y(delta));
        if (!all_finite(y.data, y.size())) forward_in_wider(*this, in, y);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* mu, Outs<T> gx) const {
        const In<T> x = in[0];
        const T n(count(*x.shape, *y.shape));
        const T* delta = mu + y.size();
        run_kernel(*x.shape, kernel::variance_row_gx<T>, n, of_x(x.data), of_y(mu), of_y(delta), of_y(gy.data),
            of_x(gx[0].data));
        if (!all_finite(y.data, y.size()) || !all_finite(mu, 2 * y.size())) vjp_in_wider(*this, in, *y.shape, gy, gx);
    }
};

} // namespace

template <class T> Var<T> sum(const Var<T>& x, const Axes& axes, bool keepdims) {
    return apply(Sum<false>{{axes, keepdims}}, x);
}
template <class T> Var<T> mean(const Var<T>& x, const Axes& axes, bool keepdims) {
    return apply(Sum<true>{{axes, keepdims}}, x);
}
template <class T> Var<T> var_biased(const Var<T>& x, const Axes& axes, bool keepdims) {
    return apply(VarBiased{{axes, keepdims}}, x);
}
template <class T> Var<T> var_biased_composed(const Var<T>& x, const Axes& axes, bool keepdims) {
    return mean(square(x - mean(x, axes, true)), axes, keepdims);
}
CHALKGRAD_INSTANCES(sum, mean, var_biased, var_biased_composed)

CatalogEntry sum_entry() { return reduction_entry<Sum<false>>("sum", "sum of x over axes", "NumPy", 1, {}); }
CatalogEntry mean_entry() { return reduction_entry<Sum<true>>("mean", "sum of x over axes / N", "NumPy", 1, 1); }
CatalogEntry var_biased_entry() {
    CatalogEntry e = reduction_entry<VarBiased>("var_biased", "sum of (x - mean)^2 over axes / N", "§5", 2, 0);
    e.composed = [](auto& c) {
        const Reduction r = reduction_of(c);
        return var_biased_composed(c.in("x"), r.axes, r.keepdims);
    };
    return e;
}

} // namespace chalkgrad
#endif
