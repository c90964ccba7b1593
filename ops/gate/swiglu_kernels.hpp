// The loops of swiglu_act and gpt_oss_packed. Included by swiglu_act.cpp only.
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/catalog/cotangent.hpp>
#include <chalkgrad/ops/elementwise/activation_functions.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

/// Which limits there are, where the compiler can use it; in `none` and `both` α is above 0.
enum class SwigluLimits { none, some, both };

/// The clamps; a limit that is absent is +inf. z = g′ is held at `low` and `high`, where z σ(αz) has become a zero: at the
/// infinity beyond, the product would be NaN. Comparisons with NaN are false: NaN passes.
template <class T, SwigluLimits limits_> struct SwigluClamps {
    static constexpr SwigluLimits limits = limits_;
    T gate_limit, up_limit, low, high;

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
    FAST bool gate_inside(T g) const { return below(g, gate_limit); }
    FAST bool up_inside(T u) const { return below(abs(u), up_limit); }

private:
    FAST static bool below(T x, T limit) {
        if constexpr (limits == SwigluLimits::none) return true;
        return x <= limit || (limits == SwigluLimits::some && limit == T(__builtin_inf()));
    }
};

/// body(clamps): the shortest for these limits.
template <class T, class F> FAST inline void with_clamps(T alpha, T gate_limit, T up_limit, F body) {
    const T absent(__builtin_inf()), zero_from = 20000 / alpha; // e^−20000 is 0 in long double too
    const T low = alpha < 0 ? -absent : -zero_from,
            high = alpha < 0 && -zero_from < gate_limit ? -zero_from : gate_limit;
    if (alpha > 0 && gate_limit == absent && up_limit == absent)
        body(SwigluClamps<T, SwigluLimits::none>{gate_limit, up_limit, low, high});
    else if (alpha > 0 && gate_limit < absent && up_limit < absent)
        body(SwigluClamps<T, SwigluLimits::both>{gate_limit, up_limit, low, high});
    else body(SwigluClamps<T, SwigluLimits::some>{gate_limit, up_limit, low, high});
}

// Gates and ups are `step` apart: 1, or 2 where they take turns. p = σ(−|αz|), the smaller sigmoid, is kept for the backward.
template <std::size_t step, class T>
FAST inline void swiglu(
    std::size_t n, T alpha, T gate_limit, T up_limit, T shift, const T* gates, const T* ups, T* p, T* y) {
    with_clamps(alpha, gate_limit, up_limit, [=](auto clamp) FAST {
        each<T>(n, [=](std::size_t i) FAST {
            const T g = gates[step * i], u = ups[step * i];
            const T z = clamp.gate(g), smaller = smaller_sigmoid(alpha * z);
            y[i] = z * sigmoids(alpha * z, smaller).of_z * (clamp.up(u) + shift);
            p[i] = smaller;
        });
    });
}

// φ′ = s (1 + αz (1 − s)) = s + αφt with s = σ(αz), t = σ(−αz); at z = inf, φt is inf·0 and tends to 0.
// So ḡ = ȳ φ′ (u′ + c), ū = ȳ φ, each 0 beyond its limits.
template <std::size_t step, class T>
FAST inline void swiglu_gradients(std::size_t n, T alpha, T gate_limit, T up_limit, T shift, const T* gates,
    const T* ups, const T* p, const T* gy, T* gg, T* gu) {
    with_clamps(alpha, gate_limit, up_limit, [=](auto clamp) FAST {
        each<T>(n, [=](std::size_t i) FAST {
            constexpr SwigluLimits limits = decltype(clamp)::limits;
            const T g = gates[step * i], u = ups[step * i], z = clamp.gate(g);
            const auto [s, t] = sigmoids(limits == SwigluLimits::some ? alpha * z : z, p[i]);
            const T f = z * s, bend = alpha * (f * t),
                    slope = s + (limits != SwigluLimits::both && t == 0 ? T(0) : bend);
            // Computed before the conditions choose: a loop with branches is not vectorised.
            const T of_g = gy[i] * (clamp.up(u) + shift) * slope, of_u = gy[i] * f;
            const bool zero = is_zero(gy[i]);
            gg[step * i] = clamp.gate_inside(g) && !zero ? of_g : T(0);
            gu[step * i] = clamp.up_inside(u) && !zero ? of_u : T(0);
        });
    });
}

} // namespace chalkgrad::CHALKGRAD_ISA
