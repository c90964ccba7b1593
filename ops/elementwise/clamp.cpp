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

template <class T> void clamp_gx(std::size_t n, T lo, T hi, const T* x, const T*, const T* gy, T* gx) {
    each<T>(n, [=](std::size_t i) FAST {
        const T g = x[i] >= lo ? gy[i] : T(0);
        gx[i] = x[i] <= hi ? g : T(0);
    });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(clamp_forward, clamp_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/elementwise/unary.hpp>

namespace chalkgrad {
namespace {

struct Clamp {
    CHALKGRAD_RULE_OF_ONE(clamp, "x", Role::none, T(lo), T(hi))
    double lo, hi; // ∓inf for an open side

    Shape shape(Shapes in) const { return in[0]; }
    void attributes(Attributes& out) const {
        const auto limit = [](double value) { return std::isinf(value) ? Attribute() : Attribute(value); };
        out.set("min", limit(lo));
        out.set("max", limit(hi));
    }
    double length_scale(Ins<double>) const { return lo < hi && hi - lo < 1 ? hi - lo : 1; }
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        for (std::size_t i = 0; i < in[0].size(); ++i) {
            if (!std::isinf(lo)) out.branch(0, in[0][i], T(lo));
            if (!std::isinf(hi)) out.branch(1, in[0][i], T(hi));
        }
    }
};

} // namespace

static Clamp clamp_between(std::optional<double> min, std::optional<double> max) {
    const double lo = min.value_or(-HUGE_VAL), hi = max.value_or(HUGE_VAL);
    if (std::isnan(lo) || std::isnan(hi) || lo == HUGE_VAL || hi == -HUGE_VAL)
        throw Error(
            fmt::format("clamp: limits are {} and {}; give numbers, or leave a limit out for an open side", lo, hi));
    if (lo > hi) throw Error(fmt::format("clamp: min {} is above max {}; exchange them", lo, hi));
    return {lo, hi};
}

template <class T> Var<T> clamp(const Var<T>& x, std::optional<double> min, std::optional<double> max) {
    return apply(clamp_between(min, max), x);
}

CHALKGRAD_INSTANCES(clamp)

CatalogEntry clamp_entry() {
    return entry("clamp", "min(max(x, min), max)", "§9", "x",
        [](Settings& c) { return rule_of(clamp_between(c.limit("min"), c.limit("max"))); })
        .with_samples(
            // Limits that are no mirror images, elements on both sides of each, none so near that a difference crosses it.
            {"two_sided: x(3,5) min=-1.5 max=2", "max_only: x(11) min=null max=2", "min_only: x(3) min=-1.5 max=null",
                "one: x(1) min=-1.5 max=2"},
            [](Generator& rng, std::string_view, const Shape& shape) {
                return away_from(2, 0.01, away_from(-1.5, 0.01, rng.uniform(-4, 4, shape)));
            })
        .with_identities(diagonal_jacobian({"x"}));
}

} // namespace chalkgrad
#endif
