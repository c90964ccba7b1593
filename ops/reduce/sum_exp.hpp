// The steps of a softmax, for kernels: the shift, exponentials of numbers that are not above 0, and Σ exp.
#pragma once // internal

#include <chalkgrad/autograd/kernel/long_exp.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

/// e^x for an x that is not above 0 (or NaN), for fewer instructions than exp: no upper limit, one power of two, and r alone
/// in place of its two parts, which costs an eighth of a unit in the last place (at most 1.02 in all).
template <class T> FAST inline T exp_of_negative(T x) {
    if constexpr (is_simd<T>) {
        using C = Constants<T>;
        const elementary::Reduced<T> e = elementary::reduced_negative(x);
        const T p = e.r + e.r * e.r * elementary::polynomial<C::exp_q>(e.r);
        return (e.scale + e.scale * p) * elementary::power_of_two<T>(-C::room);
    } else {
        return exp_of(x);
    }
}

/// What is subtracted from a row before exponentials: its largest number, or 0 where all are −inf, so that exp(z − m) is 0 and
/// not NaN.
template <class T> FAST inline T shift_of(std::size_t n, const T* z) {
    const T m = max<T>(n, [=](std::size_t j) FAST { return z[j]; });
    return m == -static_cast<T>(__builtin_inf()) ? T(0) : m;
}

/// Σ exp(f(i)), i < n. One partial sum: the additions hide behind the exponentials, and four copies of those would not fit
/// into the registers.
template <class T, class F> FAST inline T sum_exp(std::size_t n, F f) {
    return plain_sum<T>(n, [=](std::size_t i) FAST { return exp(f(i)); });
}

/// y[i] = exp(f(i)), i < n, where no f(i) is above 0, and their sum.
template <class T, class F> FAST inline T exp_and_sum(std::size_t n, F f, T* y) {
    return plain_sum<T>(n, [=](std::size_t i) FAST { return y[i] = exp_of_negative(f(i)); });
}

} // namespace chalkgrad::CHALKGRAD_ISA
