// Division of a row by its length or root mean square, guarded below: what l2_normalize and rms_norm_floor share.
//
//     m = max(√(Σx²/N + ε), floor),   y = x / m          N = 1 for a length, the number of features for a root mean square
#pragma once // internal

#include <chalkgrad/ops/norm/norm_kernels.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T>
FAST inline void divide_by_root(
    std::size_t rows, std::size_t d, T n, T floor, T eps, T root_eps, const T* x, T* root, T* y) {
    for (std::size_t t = 0; t < rows; ++t, x += d, y += d) {
        const T R = root[t] = root_mean_square<T>(d, n, eps, root_eps, [=](std::size_t j) FAST { return x[j]; });
        const T m = R < floor ? floor : R;
        each<T>(d, [=](std::size_t j) FAST { y[j] = x[j] / m; });
    }
}

// Where the root counts:  dy = (dx − y Σ(y dx)/N)/m, a symmetric Jacobian, so  x̄ = (ȳ − y Σ(y ȳ)/N)/m.  Below the floor
// x̄ = ȳ/floor: the root is not differentiated there, which at x = 0 would be 0·inf.
template <class T>
FAST inline void divide_by_root_gx(
    std::size_t rows, std::size_t d, T n, T floor, const T* root, const T* y, const T* gy, T* gx) {
    for (std::size_t t = 0; t < rows; ++t, y += d, gy += d, gx += d) {
        const T R = root[t];
        if (R < floor) {
            each<T>(d, [=](std::size_t j) FAST { gx[j] = gy[j] / floor; });
        } else {
            const T s = sum<T>(d, [=](std::size_t j) FAST { return y[j] * gy[j]; }) / n;
            each<T>(d, [=](std::size_t j) FAST { gx[j] = (gy[j] - y[j] * s) / R; });
        }
    }
}

} // namespace chalkgrad::CHALKGRAD_ISA

#ifndef CHALKGRAD_KERNELS_ONLY
#include <algorithm>
#include <cmath>

#include <chalkgrad/autograd/tape/rule.hpp>

namespace chalkgrad {

/// f(√(Σx²/n)) for each row of x.
template <class T, class F> void each_root(In<T> x, T n, F f) {
    for (std::size_t t = 0; t < x.rows(); ++t) {
        const T* row = x.data + t * x.last();
        f(base::root_mean_square<T>(x.last(), n, T(0), T(0), [=](std::size_t j) FAST { return row[j]; }));
    }
}

/// A row bends over its own root, down to `least`: the smallest of them; 1 without rows.
inline double smallest_root(In<double> x, double n, double least) {
    double smallest = HUGE_VAL;
    each_root<double>(x, n, [&](double root) { smallest = std::min(smallest, std::max(least, root)); });
    return std::isfinite(smallest) ? smallest : 1;
}

} // namespace chalkgrad
#endif
