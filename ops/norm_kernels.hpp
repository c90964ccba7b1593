// What the kernels of the norms share: a root mean square at any magnitude, and column sums for gains and biases.
#pragma once

#include <chalkgrad/autograd/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

/// The largest number, and the least mean square that is exact to rounding: no square in it underflowed to any effect.
template <class T>
inline constexpr double largest = __DBL_MAX__;
template <class T>
inline constexpr double least_trusted = __DBL_MIN__ / __DBL_EPSILON__;
template <>
inline constexpr double largest<float> = __FLT_MAX__;
template <>
inline constexpr double least_trusted<float> = __FLT_MIN__ / __FLT_EPSILON__;

template <class T>
FAST inline bool trusted(T mean_square) {
    return mean_square >= T(least_trusted<T>) && mean_square <= T(largest<T>);
}

/// √(Σf²/n + ε) with every number measured in units of the largest; ±inf gives inf, NaN gives NaN.
template <class T, class F>
T scaled_root(std::size_t d, T n, T root_eps, F f) {
    T unit = max<T>(d, [=](std::size_t j) FAST { return abs(f(j)); });
    if (unit < root_eps) unit = root_eps;
    if (!(unit > 0 && unit <= T(largest<T>))) return unit;
    const T e = root_eps / unit;
    return unit * sqrt(sum<T>(d, [=](std::size_t j) FAST { return (f(j) / unit) * (f(j) / unit); }) / n + e * e);
}

/// √(Σf²/n + ε) over j < d: n = d for a root mean square, 1 for a length. The rare row whose squares over- or underflow is
/// done again, scaled.
template <class T, class F>
FAST inline T root_mean_square(std::size_t d, T n, T eps, T root_eps, F f) {
    const T mean_square = sum<T>(d, [=](std::size_t j) FAST { return f(j) * f(j); }) / n + eps;
    return trusted(mean_square) ? sqrt(mean_square) : scaled_root<T>(d, n, root_eps, f);
}

/// g[j] = Σ term(t, j) over t < rows, in four rows for each pass over g. row(t) comes before the terms of its row, which may
/// also write what belongs to (t, j): so a gradient of x and those of the gain are made while the row is in the cache.
template <class T, class R, class F>
FAST inline void column_sums(std::size_t rows, std::size_t d, T* g, R row, F term) {
    each<T>(d, [=](std::size_t j) FAST { g[j] = 0; });
    std::size_t t = 0;
    for (; t + 4 <= rows; t += 4) {
        for (std::size_t k = t; k < t + 4; ++k) row(k);
        each<T>(d, [=](std::size_t j) FAST {
            const T a = term(t, j), b = term(t + 1, j), c = term(t + 2, j), e = term(t + 3, j);
            g[j] += (a + b) + (c + e);
        });
    }
    for (; t < rows; ++t) {
        row(t);
        each<T>(d, [=](std::size_t j) FAST { g[j] += term(t, j); });
    }
}

/// Two of them: term returns Pair<T>{term of g, term of h}.
template <class T, class R, class F>
FAST inline void column_sums2(std::size_t rows, std::size_t d, T* g, T* h, R row, F term) {
    each<T>(d, [=](std::size_t j) FAST { g[j] = h[j] = 0; });
    std::size_t t = 0;
    for (; t + 4 <= rows; t += 4) {
        for (std::size_t k = t; k < t + 4; ++k) row(k);
        each<T>(d, [=](std::size_t j) FAST {
            const Pair<T> a = term(t, j), b = term(t + 1, j), c = term(t + 2, j), e = term(t + 3, j);
            g[j] += (a.first + b.first) + (c.first + e.first);
            h[j] += (a.second + b.second) + (c.second + e.second);
        });
    }
    for (; t < rows; ++t) {
        row(t);
        each<T>(d, [=](std::size_t j) FAST {
            const Pair<T> a = term(t, j);
            g[j] += a.first;
            h[j] += a.second;
        });
    }
}

}  // namespace chalkgrad::CHALKGRAD_ISA
