// What the kernels of the norms share: a root mean square at any magnitude.
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

/// The largest number, and the least mean square that is exact to rounding: no square in it underflowed to any effect.
template <class T> inline constexpr double largest = __DBL_MAX__;
template <class T> inline constexpr double least_trusted = __DBL_MIN__ / __DBL_EPSILON__;
template <> inline constexpr double largest<float> = __FLT_MAX__;
template <> inline constexpr double least_trusted<float> = __FLT_MIN__ / __FLT_EPSILON__;

template <class T> FAST inline bool trusted(T mean_square) {
    return mean_square >= T(least_trusted<T>) && mean_square <= T(largest<T>);
}

/// √(Σf²/n + ε) with every number measured in units of the largest; ±inf gives inf, NaN gives NaN.
template <class T, class F> T scaled_root(std::size_t d, T n, T root_eps, F f) {
    T unit = max<T>(d, [=](std::size_t j) FAST { return abs(f(j)); });
    if (unit < root_eps) unit = root_eps;
    if (!(unit > 0 && unit <= T(largest<T>))) return unit;
    const T e = root_eps / unit;
    return unit * sqrt(sum<T>(d, [=](std::size_t j) FAST { return (f(j) / unit) * (f(j) / unit); }) / n + e * e);
}

/// √(Σf²/n + ε) over j < d: n = d for a root mean square, 1 for a length. The rare row whose squares over- or underflow is
/// done again, scaled.
template <class T, class F> FAST inline T root_mean_square(std::size_t d, T n, T eps, T root_eps, F f) {
    const T mean_square = sum<T>(d, [=](std::size_t j) FAST { return f(j) * f(j); }) / n + eps;
    return trusted(mean_square) ? sqrt(mean_square) : scaled_root<T>(d, n, root_eps, f);
}

} // namespace chalkgrad::CHALKGRAD_ISA
