// What the kernels of the norms share: a root mean square at any magnitude, and column sums for gains and biases.
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

// Loops over several rows at a time: they share what depends on j alone, and their sums, divisions and roots overlap. row(t)
// makes a small struct of what the elements of a row need: pointers, statistics, and `to`, where they are written. Elements
// are computed before the first is written: the compiler would read a gain again after each.

/// row.to[j] = element(row, j) for every row and j < d.
template <class T, class R, class F> FAST inline void write_rows(std::size_t rows, std::size_t d, R row, F element) {
    std::size_t t = 0;
    for (; t + 4 <= rows; t += 4) {
        decltype(row(t)) four[4];
        for (std::size_t k = 0; k < 4; ++k)
            four[k] = row(t + k); // a loop: four copies would take four times as long to compile
        const auto one = four[0], two = four[1], three = four[2], last = four[3];
        each<T>(d, [=](std::size_t j) FAST {
            const T a = element(one, j), b = element(two, j), c = element(three, j), e = element(last, j);
            one.to[j] = a;
            two.to[j] = b;
            three.to[j] = c;
            last.to[j] = e;
        });
    }
    for (; t < rows; ++t) {
        const auto one = row(t);
        each<T>(d, [=](std::size_t j) FAST { one.to[j] = element(one, j); });
    }
}

/// Gradients: along[t] = Σ_j term(row, j) first, then row.to[j] = x̄, the first that element(row, along, j) returns, and
/// g[j] = Σ_t of its second. So a gradient of x and that of the gain are made while the row is in the cache.
template <class T, class R, class D, class F>
FAST inline void write_rows_and_sum(std::size_t rows, std::size_t d, T* g, R row, D term, F element) {
    each<T>(d, [=](std::size_t j) FAST { g[j] = 0; });
    std::size_t t = 0;
    if constexpr (is_simd<T>)
        for (; t + 4 <= rows; t += 4) {
            const auto one = row(t), two = row(t + 1), three = row(t + 2), last = row(t + 3);
            T a = 0, b = 0, c = 0, e = 0;
#pragma omp simd reduction(+ : a, b, c, e)
            for (std::size_t j = 0; j < d; ++j) {
                a += term(one, j);
                b += term(two, j);
                c += term(three, j);
                e += term(last, j);
            }
            each<T>(d, [=](std::size_t j) FAST {
                const Pair<T> p = element(one, a, j), q = element(two, b, j), r = element(three, c, j),
                              s = element(last, e, j);
                const T sum = g[j] + ((p.second + q.second) + (r.second + s.second));
                one.to[j] = p.first;
                two.to[j] = q.first;
                three.to[j] = r.first;
                last.to[j] = s.first;
                g[j] = sum;
            });
        }
    for (; t < rows; ++t) {
        const auto one = row(t);
        const T a = sum<T>(d, [=](std::size_t j) FAST { return term(one, j); });
        each<T>(d, [=](std::size_t j) FAST {
            const Pair<T> p = element(one, a, j);
            const T sum = g[j] + p.second;
            one.to[j] = p.first;
            g[j] = sum;
        });
    }
}

/// What write_rows_and_sums adds: element returns one.
template <class T> struct Triple { T written, of_g, of_h; };

/// row.to[j] and two sums over the rows. In two rows at a time: the statistics of four would not fit into the registers.
template <class T, class R, class F>
FAST inline void write_rows_and_sums(std::size_t rows, std::size_t d, T* g, T* h, R row, F element) {
    each<T>(d, [=](std::size_t j) FAST { g[j] = h[j] = 0; });
    std::size_t t = 0;
    for (; t + 2 <= rows; t += 2) {
        const auto one = row(t), two = row(t + 1);
        each<T>(d, [=](std::size_t j) FAST {
            const Triple<T> a = element(one, j), b = element(two, j);
            const T sum_g = g[j] + (a.of_g + b.of_g), sum_h = h[j] + (a.of_h + b.of_h);
            one.to[j] = a.written;
            two.to[j] = b.written;
            g[j] = sum_g;
            h[j] = sum_h;
        });
    }
    if (t < rows) {
        const auto one = row(t);
        each<T>(d, [=](std::size_t j) FAST {
            const Triple<T> a = element(one, j);
            const T sum_g = g[j] + a.of_g, sum_h = h[j] + a.of_h;
            one.to[j] = a.written;
            g[j] = sum_g;
            h[j] = sum_h;
        });
    }
}

} // namespace chalkgrad::CHALKGRAD_ISA
