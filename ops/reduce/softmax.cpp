// softmax:  m = max z,  s = Σ e^(z − m),  P = e^(z − m)/s,  log P = (z − m) − log s,  z = x + mask, sums over a row.
#include <chalkgrad/ops/reduce/sum_exp.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// y may be z.
template <class T> void softmax_rows(std::size_t rows, std::size_t n, const T* z, T* y) {
    for (std::size_t t = 0; t < rows; ++t, z += n, y += n) {
        const T m = shift_of(n, z);
        const T s = exp_and_sum<T>(
            n, [=](std::size_t j) FAST { return z[j] - m; }, y);
        const T r = s == 0 ? T(0) : 1 / s;
        each<T>(n, [=](std::size_t j) FAST { y[j] *= r; });
    }
}

// Vary z: dP = P (dz − Σ P dz), a symmetric Jacobian. So  z̄ = P (ȳ − Σ P ȳ).
template <class T> void softmax_rows_gz(std::size_t rows, std::size_t n, const T* y, const T* gy, T* gz) {
    for (std::size_t t = 0; t < rows; ++t, y += n, gy += n, gz += n) {
        const T s = sum<T>(n, [=](std::size_t j) FAST { return gy[j] * y[j]; });
        each<T>(n, [=](std::size_t j) FAST { gz[j] = y[j] * (gy[j] - s); });
    }
}

// A hidden entry is −inf by itself: it does not move with the others. One that is −inf only because T ends there becomes T's lowest
// number, so that the backward tells it from a hidden one.
template <class T> FAST inline T not_hidden(T y) {
    if constexpr (is_simd<T>) return y < -Constants<T>::max_finite ? -Constants<T>::max_finite : y;
    else return y;
}
template <class T> void log_softmax_rows(std::size_t rows, std::size_t n, const T* z, T* y) {
    const T hidden = -static_cast<T>(__builtin_inf());
    for (std::size_t t = 0; t < rows; ++t, z += n, y += n) {
        const T m = shift_of(n, z), log_s = log(sum_exp<T>(n, [=](std::size_t j) FAST { return z[j] - m; }));
        each<T>(n, [=](std::size_t j) FAST { y[j] = z[j] == hidden ? hidden : not_hidden((z[j] - m) - log_s); });
    }
}

// Vary z: dy = dz − Σ P dz, so  z̄ = ȳ − P Σ ȳ  with P = e^y. A hidden entry, y = −inf, does not move: its ȳ is left out.
template <class T> void log_softmax_rows_gz(std::size_t rows, std::size_t n, const T* y, const T* gy, T* gz) {
    const T hidden = -static_cast<T>(__builtin_inf());
    for (std::size_t t = 0; t < rows; ++t, y += n, gy += n, gz += n) {
        const T s = sum<T>(n, [=](std::size_t j) FAST { return y[j] == hidden ? T(0) : gy[j]; });
        each<T>(n, [=](std::size_t j) FAST {
            const T g = gy[j] - exp(y[j]) * s;
            gz[j] = y[j] == hidden ? T(0) : g;
        });
    }
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(softmax_rows, softmax_rows_gz, log_softmax_rows, log_softmax_rows_gz)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/reduce/additive_mask.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>
#include <chalkgrad/ops/shape/strided.hpp>

namespace chalkgrad {
namespace {

/// Softmax or its logarithm over an axis; rows along another axis than the last are packed for the kernels.
template <bool logarithm> struct Softmax {
    static constexpr const char* name = logarithm ? "log_softmax" : "softmax";
    static constexpr const char* inputs[] = {"x", "mask"};
    static constexpr std::size_t required = 1;
    static constexpr Role role = logarithm ? Role::none : Role::attention;
    std::ptrdiff_t axis;

    Shape shape(Shapes in) const {
        normalize_axis(name, axis, in[0]);
        if (in.has(1)) require_mask(name, in[0], in[1]);
        return in[0];
    }
    void attributes(Attributes& out) const { out.set("axis", static_cast<double>(axis)); }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        const T* z = in[0].data;
        if (in[1]) {
            add_mask(in[0], in[1], y.data);
            z = y.data;
        }
        if (is_last_axis(*y.shape)) return rows_forward<T>(y.rows(), y.last(), z, y.data);
        const View lines = along_axis(*y.shape);
        Scratch<T> buffer(y.size());
        gather<T>(lines, z, buffer.data());
        rows_forward<T>(lines.extents.rows(), lines.extents.last(), buffer.data(), buffer.data());
        scatter<T>(lines, buffer.data(), y.data);
    }
    template <class T> void vjp(Ins<T>, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        T* gz = gx[0].data;
        if (is_last_axis(*y.shape)) {
            rows_gz<T>(y.rows(), y.last(), y.data, gy.data, gz);
        } else {
            const View lines = along_axis(*y.shape);
            Scratch<T> y_rows(y.size()), g_rows(y.size());
            gather<T>(lines, y.data, y_rows.data());
            gather<T>(lines, gy.data, g_rows.data());
            rows_gz<T>(lines.extents.rows(), lines.extents.last(), y_rows.data(), g_rows.data(), g_rows.data());
            scatter<T>(lines, g_rows.data(), gz);
        }
        if (gx[1]) mask_gradient<T>(*y.shape, gz, gx[1]);
    }

private:
    bool is_last_axis(const Shape& shape) const { return normalize_axis(name, axis, shape) + 1 == shape.rank(); }
    /// An array with the axis moved to the end.
    View along_axis(const Shape& shape) const {
        const std::size_t k = normalize_axis(name, axis, shape);
        View view = View::of(shape);
        std::rotate(view.strides.begin() + k, view.strides.begin() + k + 1, view.strides.begin() + shape.rank());
        view.extents = {};
        for (std::size_t i = 0; i < shape.rank(); ++i)
            view.extents.push_back(shape[i + 1 < shape.rank() ? i + (i >= k) : k]);
        return view;
    }
    template <class T>
    static constexpr auto rows_forward = logarithm ? kernel::log_softmax_rows<T> : kernel::softmax_rows<T>;
    template <class T>
    static constexpr auto rows_gz = logarithm ? kernel::log_softmax_rows_gz<T> : kernel::softmax_rows_gz<T>;
};

} // namespace

template <class T> Var<T> softmax(const Var<T>& x, std::ptrdiff_t axis, const Var<T>& mask) {
    return apply(Softmax<false>{axis}, x, mask);
}
template <class T> Var<T> log_softmax(const Var<T>& x, std::ptrdiff_t axis, const Var<T>& mask) {
    return apply(Softmax<true>{axis}, x, mask);
}
template <class T> Var<T> softmax_composed(const Var<T>& x, std::ptrdiff_t axis, const Var<T>& mask) {
    const Var<T> z = mask ? x + mask : x, e = exp(z - amax(z, axis, true));
    return e / sum(e, axis, true);
}
template <class T> Var<T> log_softmax_composed(const Var<T>& x, std::ptrdiff_t axis, const Var<T>& mask) {
    const Var<T> z = mask ? x + mask : x, shifted = z - amax(z, axis, true);
    return shifted - log(sum(exp(shifted), axis, true));
}

CHALKGRAD_INSTANCES(softmax, log_softmax, softmax_composed, log_softmax_composed)

// A constant added along the axis changes nothing.
static std::vector<Identity> softmax_identities(const Sample& s) {
    const Array<double>& x = *s.input("x");
    return {known_product(
        "J 1 = 0 along the axis", "x", constant_along(static_cast<std::ptrdiff_t>(s.number("axis", -1)), x))};
}

template <bool logarithm>
static CatalogEntry softmax_like(const char* formula, std::function<Var<double>(Arguments<double>&)> composed) {
    return entry(Softmax<logarithm>::name, formula, "§7", "x mask|",
        [](Settings& c) {
            c.ignore({"input"});
            return rule_of(Softmax<logarithm>{c.integer("axis", -1)});
        })
        .with_samples(
            {"rows: x(3,5) axis=-1", "columns: x(4,3) axis=0", "middle: x(2,3,2) axis=1",
                "beyond_a_vector: x(2,11) axis=-1", "one: x(3,1) axis=-1", "large: x(2,3) axis=-1",
                "causal: x(2,4,4) axis=-1", "learned_mask: x(2,3,4) mask(3,1) axis=1"},
            [](Generator& rng, std::string_view, const Shape& shape) { // exp(x) of the large ones overflows
                return shape == Shape{2, 3} ? rng.normal(1000, 2, shape) : rng.standard_normal(shape);
            },
            [](std::vector<Sample>& samples) {
                Array<double> causal = Array<double>::from_shape({4, 4});
                for (std::size_t i = 0; i < 16; ++i) causal.data()[i] = i % 4 <= i / 4 ? 0 : -HUGE_VAL;
                samples[6].constants = {{"mask", causal}};
            })
        .with_twin(std::move(composed))
        .with_identities(softmax_identities);
}
CatalogEntry softmax_entry() {
    return softmax_like<false>("exp(x + mask) / sum exp(x + mask)",
        [](auto& c) { return softmax_composed(c.in("x"), c.integer("axis", -1), c.maybe_constant("mask")); });
}
CatalogEntry log_softmax_entry() {
    return softmax_like<true>("x + mask - logsumexp(x + mask)",
        [](auto& c) { return log_softmax_composed(c.in("x"), c.integer("axis", -1), c.maybe_constant("mask")); });
}

} // namespace chalkgrad
#endif
