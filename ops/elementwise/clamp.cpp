// clamp:  y = min(max(x, ℓ), h),   x̄ = ȳ [ℓ ≤ x ≤ h]          an open side has the limit ∓inf
#include <chalkgrad/autograd/kernel/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// x stays itself where it equals a limit: that choice makes the slope there 1. Comparisons with NaN are false: NaN stays too.
template <class T> void clamp_forward(std::size_t n, T lo, T hi, const T* x, T* y) {
    each<T>(n, [=](std::size_t i) FAST {
        const T raised = x[i] < lo ? lo : x[i];
        y[i] = raised > hi ? hi : raised;
    });
}

template <class T> void clamp_gx(std::size_t n, T lo, T hi, const T* x, const T* gy, T* gx) {
    each<T>(n, [=](std::size_t i) FAST {
        const T g = x[i] >= lo ? gy[i] : T(0);
        gx[i] = x[i] <= hi ? g : T(0);
    });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(clamp_forward)
CHALKGRAD_KERNEL(clamp_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/catalog/identities.hpp>
#include <chalkgrad/ops/elementwise/clamp.hpp>

namespace chalkgrad {
namespace {

struct Clamp {
    static constexpr const char* name = "clamp";
    static constexpr const char* inputs[] = {"x"};
    double lo, hi; // ∓inf for an open side

    Shape shape(Shapes in) const { return in[0]; }
    void attributes(Attributes& out) const {
        const auto limit = [](double value) { return std::isinf(value) ? Attribute() : Attribute(value); };
        out.set("min", limit(lo));
        out.set("max", limit(hi));
    }
    double length_scale(Ins<double>) const { return lo < hi && hi - lo < 1 ? hi - lo : 1; }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        kernel::clamp_forward<T>(y.size(), T(lo), T(hi), in[0].data, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        kernel::clamp_gx<T>(y.size(), T(lo), T(hi), in[0].data, gy.data, gx[0].data);
    }
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        for (std::size_t i = 0; i < in[0].size(); ++i) {
            if (!std::isinf(lo)) out.branch(0, in[0][i], T(lo));
            if (!std::isinf(hi)) out.branch(1, in[0][i], T(hi));
        }
    }
};

} // namespace

template <class T> Var<T> clamp(const Var<T>& x, std::optional<double> min, std::optional<double> max) {
    const double lo = min.value_or(-HUGE_VAL), hi = max.value_or(HUGE_VAL);
    if (std::isnan(lo) || std::isnan(hi) || lo == HUGE_VAL || hi == -HUGE_VAL)
        throw Error(
            fmt::format("clamp: limits are {} and {}; give numbers, or leave a limit out for an open side", lo, hi));
    if (lo > hi) throw Error(fmt::format("clamp: min {} is above max {}; exchange them", lo, hi));
    return apply(Clamp{lo, hi}, x);
}

#define CHALKGRAD_INSTANTIATE(T) template Var<T> clamp(const Var<T>&, std::optional<double>, std::optional<double>);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

CatalogEntry clamp_entry() {
    return entry(
        "clamp", "min(max(x, min), max)", "§9",
        [](auto& c) { return clamp(c.in("x"), c.limit("min"), c.limit("max")); },
        [](Generator& rng) {
            // Limits that are no mirror images, elements on both sides of each, none so near that a difference crosses it.
            const auto draw = [&](const Shape& shape) {
                Array<double> x = rng.uniform(-4, 4, shape);
                for (double& v : x)
                    for (const double limit : {-1.5, 2.0})
                        if (std::abs(v - limit) < 0.01) v += v < limit ? -0.01 : 0.01;
                return x;
            };
            const Attribute open;
            return std::vector<Sample>{{"two_sided", {{"x", draw({3, 5})}}, {}, {{"min", -1.5}, {"max", 2.0}}},
                {"max_only", {{"x", draw({11})}}, {}, {{"min", open}, {"max", 2.0}}},
                {"min_only", {{"x", draw({3})}}, {}, {{"min", -1.5}, {"max", open}}},
                {"one", {{"x", draw({1})}}, {}, {{"min", -1.5}, {"max", 2.0}}}};
        })
        .with_identities(diagonal_jacobian({"x"}));
}

} // namespace chalkgrad
#endif
