// Σ exp, for kernels.
#pragma once

#include <chalkgrad/autograd/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

/// Σ exp(f(i)), i < n. One partial sum: the additions hide behind the exponentials, and four copies of those would not fit
/// into the registers.
template <class T, class F>
FAST inline T sum_exp(std::size_t n, F f) {
    T s(0);
    if constexpr (is_simd<T>) {
#pragma omp simd reduction(+ : s)
        for (std::size_t i = 0; i < n; ++i) s += exp(f(i));
    } else {
        for (std::size_t i = 0; i < n; ++i) s += exp(f(i));
    }
    return s;
}

} // namespace chalkgrad::CHALKGRAD_ISA
