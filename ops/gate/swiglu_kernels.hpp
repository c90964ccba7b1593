// What swiglu_act and gpt_oss_packed share: the kernel of one element, the checks of their limits, numbers for their samples.
// Included by their .cpp files only.
#pragma once

#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/catalog/cotangent.hpp>
#include <chalkgrad/ops/elementwise/activation_functions.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

/// Which limits there are, where the compiler can use it; in `none` and `both` α is above 0.
enum class SwigluLimits { none, some, both };

/// One element of it; a limit that is absent is +inf. p = σ(−|αg′|) is kept for the backward.
///
/// z = g′ is held at `low` and `high`, where z σ(αz) has become a zero: at the infinity beyond, the product would be NaN.
template <class T, SwigluLimits limits> struct Swiglu {
    T alpha, gate_limit, up_limit, shift, low, high;

    // Comparisons with NaN are false: NaN passes.
    FAST T gate(T g) const {
        const T z = limits != SwigluLimits::none && g > high ? high : g;
        return z < low ? low : z;
    }
    FAST T up(T u) const {
        if constexpr (limits == SwigluLimits::none) return u;
        const T v = u > up_limit ? up_limit : u;
        return v < -up_limit ? -up_limit : v;
    }
    // Exactly at a limit still counts as inside; NaN does not, where there is a limit.
    FAST static bool below(T x, T limit) {
        if constexpr (limits == SwigluLimits::none) return true;
        return x <= limit || (limits == SwigluLimits::some && limit == T(__builtin_inf()));
    }

    FAST Pair<T> value_and_p(T g, T u) const {
        const T z = gate(g), w = alpha * z, p = smaller_sigmoid(w);
        return {z * sigmoids(w, p).of_z * (up(u) + shift), p};
    }

    // φ′ = s (1 + αz (1 − s)) = s + αφt with s = σ(αz), t = σ(−αz); at z = inf, φt is inf·0 and tends to 0.
    // So ḡ = ȳ φ′ (u′ + shift), ū = ȳ φ, each 0 beyond its limits.
    FAST Pair<T> gradients(T g, T u, T p, T gy) const {
        const T z = gate(g);
        const auto [s, t] = sigmoids(limits == SwigluLimits::some ? alpha * z : z, p);
        // Computed before the conditions choose: a loop with branches is not vectorised.
        const T f = z * s, bend = alpha * (f * t), slope = s + (limits != SwigluLimits::both && t == 0 ? T(0) : bend);
        const T gg = gy * (up(u) + shift) * slope, gu = gy * f;
        return {below(g, gate_limit) && !is_zero(gy) ? gg : T(0), below(abs(u), up_limit) && !is_zero(gy) ? gu : T(0)};
    }
};

/// body(act): the shortest act for these limits.
template <class T, class F> FAST inline void with_swiglu(T alpha, T gate_limit, T up_limit, T shift, F body) {
    const T absent(__builtin_inf()), zero_from = 20000 / alpha; // e^−20000 is 0 in long double too
    const T low = alpha < 0 ? -absent : -zero_from,
            high = alpha < 0 && -zero_from < gate_limit ? -zero_from : gate_limit;
    if (alpha > 0 && gate_limit == absent && up_limit == absent)
        body(Swiglu<T, SwigluLimits::none>{alpha, gate_limit, up_limit, shift, low, high});
    else if (alpha > 0 && gate_limit < absent && up_limit < absent)
        body(Swiglu<T, SwigluLimits::both>{alpha, gate_limit, up_limit, shift, low, high});
    else body(Swiglu<T, SwigluLimits::some>{alpha, gate_limit, up_limit, shift, low, high});
}

} // namespace chalkgrad::CHALKGRAD_ISA

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/catalog/checks.hpp>
#include <chalkgrad/ops/catalog/identities.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>

namespace chalkgrad {

template <class T> T limit_or_inf(const std::optional<double>& limit) { return T(limit.value_or(HUGE_VAL)); }

inline void require_limit(const char* op, const char* name, const std::optional<double>& limit) {
    if (limit && !(*limit > 0 && std::isfinite(*limit)))
        throw Error(
            fmt::format("{}: {} is {}; it must be finite and positive, or absent for no clamp", op, name, *limit));
}

template <class T>
inline void swiglu_sides(
    T g, T u, const std::optional<double>& gate_limit, const std::optional<double>& up_limit, KinkSides& out) {
    if (gate_limit) out.branch(0, g, T(*gate_limit));
    if (up_limit) {
        out.branch(1, u, T(*up_limit));
        out.branch(2, u, T(-*up_limit));
    }
}

/// Numbers on all sides of the limits ±2 and none near them: |x| is in (0, 1.8) or (2.2, 3.2).
inline Array<double> around_limits(Generator& rng, const Shape& shape) {
    Array<double> x = rng.uniform(-2.8, 2.8, shape);
    for (double& v : x)
        if (std::abs(v) > 1.8) v += v < 0 ? -0.4 : 0.4;
    return x;
}

} // namespace chalkgrad
#endif
