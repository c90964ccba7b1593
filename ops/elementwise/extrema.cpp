// minimum, maximum:  ā = w ȳ,  b̄ = (1 − w) ȳ,  w = 1 where a is chosen, ½ in a tie, 0 where it is not
// logaddexp:         y = log(eᵃ + eᵇ),  ā = ȳ σ(a − b),  b̄ = ȳ σ(b − a)
#include <chalkgrad/ops/elementwise/binary.hpp>

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace chalkgrad {

/// Of two duals with the same value: between their tangents, which is the convention of a tie in forward mode.
template <class T> constexpr Dual<T> tied(const Dual<T>& a, const Dual<T>& b) { return {a.v, (a.d + b.d) / 2}; }

} // namespace chalkgrad
#endif

namespace chalkgrad::CHALKGRAD_ISA {

FAST inline float tied(float a, float) { return a; }
FAST inline double tied(double a, double) { return a; }
FAST inline long double tied(long double a, long double) { return a; }

// A NaN fails all three comparisons; the sum is NaN.
struct Minimum {
    static constexpr bool kink_in_tie = true;
    template <class T> static FAST T y(T a, T b) { return a < b ? a : b < a ? b : a == b ? tied(a, b) : a + b; }
    template <class T> static FAST T ga(T a, T b, T, T gy) { return a < b ? gy : a == b ? gy / 2 : T(0); }
    template <class T> static FAST T gb(T a, T b, T, T gy) { return b < a ? gy : a == b ? gy / 2 : T(0); }
};
struct Maximum {
    static constexpr bool kink_in_tie = true;
    template <class T> static FAST T y(T a, T b) { return a > b ? a : b > a ? b : a == b ? tied(a, b) : a + b; }
    template <class T> static FAST T ga(T a, T b, T, T gy) { return a > b ? gy : a == b ? gy / 2 : T(0); }
    template <class T> static FAST T gb(T a, T b, T, T gy) { return b > a ? gy : a == b ? gy / 2 : T(0); }
};

// The greater one + log(1 + e^(lesser − greater)). Equal infinities have no difference: they are their own sum, and both −inf
// have no slope (nothing to weigh), both +inf share it.
struct LogAddExp {
    template <class T> static FAST T y(T a, T b) {
        const T greater = a > b ? a : b, lesser = a > b ? b : a;
        const T y = greater + log1p(exp(lesser - greater));
        return a == b && a - a != 0 ? (a < 0 ? T(-__builtin_inf()) : tied(a, b)) : y;
    }
    template <class T> static FAST T share(T a, T b) {
        return a == b && a - a != 0 ? T(a < 0 ? 0 : 0.5) : sigmoid(a - b);
    }
    template <class T> static FAST T ga(T a, T b, T, T gy) { return gy * share(a, b); }
    template <class T> static FAST T gb(T a, T b, T, T gy) { return gy * share(b, a); }
};

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_BINARY_FUNCTION(minimum, Minimum, Role::none)
CHALKGRAD_BINARY_FUNCTION(maximum, Maximum, Role::none)
CHALKGRAD_BINARY(logaddexp, LogAddExp, Role::none, "log(e^a + e^b)", "§13", {-6, 6}, {},
    [](auto& c) { return logaddexp_composed(c.in("a"), c.in("b")); })

#ifndef CHALKGRAD_KERNELS_ONLY
namespace chalkgrad {

template <class T> Var<T> logaddexp_composed(const Var<T>& a, const Var<T>& b) {
    return maximum(a, b) + log1p(exp(-abs(a - b)));
}
CHALKGRAD_INSTANCES(logaddexp_composed)

/// a a quarter off the halves and b on them, each with less than a tenth of noise: both orders occur, and no tie comes near.
static std::vector<Sample> samples_without_ties(Generator& rng) {
    std::vector<Sample> samples = broadcast_samples(rng);
    for (Sample& sample : samples)
        for (NamedArray& input : sample.inputs)
            for (double& x : input.values)
                x = std::round(2 * x) / 2 + (input.name == "a" ? 0.25 : 0) + rng.uniform(-0.1, 0.1);
    // A single number lies above the least a, and below most.
    const Array<double>& a = samples.back().inputs[0].values;
    samples.back().inputs[1].values.data()[0] = std::floor(2 * *std::min_element(a.begin(), a.end())) / 2 + 0.5;
    return samples;
}

CatalogEntry minimum_entry() {
    return entry("minimum", "min(a, b)", "§9", "a b", plain<MinimumRule>).with_samples(samples_without_ties);
}
CatalogEntry maximum_entry() {
    return entry("maximum", "max(a, b)", "§9", "a b", plain<MaximumRule>).with_samples(samples_without_ties);
}

} // namespace chalkgrad
#endif
