// The vocabulary kernels are written in, and the macro that compiles each of them once per instruction set.
//
// A kernel is a function template on the scalar, over contiguous rows, in namespace chalkgrad::CHALKGRAD_ISA of an op's
// .cpp. The build compiles that file twice: plainly, and with -mavx2 -mfma -DCHALKGRAD_KERNELS_ONLY. The second object
// may define nothing outside chalkgrad::avx2: an inline function of a library compiled with AVX2 could be picked by the
// linker for everyone. So kernels call only what this header offers, never <cmath> or <algorithm>. All kernels share
// the two namespaces: name a helper after its op, too.
#pragma once // internal

#include <cstddef>

#ifdef CHALKGRAD_KERNELS_ONLY
#if defined(__x86_64__) && !(defined(__AVX2__) && defined(__FMA__))
#error "CHALKGRAD_KERNELS_ONLY is the AVX2 compilation: it needs -mavx2 -mfma"
#endif
#define CHALKGRAD_ISA avx2
#else
#include <chalkgrad/autograd/base/dual.hpp>
#include <chalkgrad/autograd/kernel/isa.hpp>
#define CHALKGRAD_ISA base
#endif

/// Goes after the parameter list of a lambda given to each, sum, max: without it the loop is not vectorised.
#define FAST __attribute__((always_inline))

#include <chalkgrad/autograd/kernel/vector_math.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T> inline constexpr bool is_simd = false;
template <> inline constexpr bool is_simd<float> = true;
template <> inline constexpr bool is_simd<double> = true;

/// f(0), …, f(n − 1) in any order: f may read anything, and write only what belongs to its own index.
template <class T, class F> FAST inline void each(std::size_t n, F f) {
    if constexpr (is_simd<T>) {
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) f(i);
    } else {
        for (std::size_t i = 0; i < n; ++i) f(i);
    }
}

/// Σ f(i), i < n, of float and double in four partial sums: one for each quarter of the range.
template <class T, class F> FAST inline T sum(std::size_t n, F f) {
    if constexpr (is_simd<T>) {
        T a = 0, b = 0, c = 0, d = 0;
        const std::size_t q = n / 4;
#pragma omp simd reduction(+ : a, b, c, d)
        for (std::size_t i = 0; i < q; ++i) {
            a += f(i);
            b += f(q + i);
            c += f(2 * q + i);
            d += f(3 * q + i);
        }
        for (std::size_t i = 4 * q; i < n; ++i) a += f(i);
        return (a + b) + (c + d);
    } else {
        T a(0);
        for (std::size_t i = 0; i < n; ++i) a += f(i);
        return a;
    }
}

/// What sum2 adds: f returns one, and so does sum2.
template <class T> struct Pair { T first, second; };

/// Two sums in one pass: f(i) returns Pair<T>{term of the first, term of the second}.
template <class T, class F> FAST inline Pair<T> sum2(std::size_t n, F f) {
    if constexpr (is_simd<T>) {
        T a = 0, b = 0, c = 0, d = 0;
        const std::size_t h = n / 2;
#pragma omp simd reduction(+ : a, b, c, d)
        for (std::size_t i = 0; i < h; ++i) {
            const Pair<T> s = f(i), t = f(h + i);
            a += s.first;
            b += s.second;
            c += t.first;
            d += t.second;
        }
        if (n > 2 * h) {
            const Pair<T> s = f(2 * h);
            a += s.first;
            b += s.second;
        }
        return {a + c, b + d};
    } else {
        T a(0), b(0);
        for (std::size_t i = 0; i < n; ++i) {
            const Pair<T> s = f(i);
            a += s.first;
            b += s.second;
        }
        return {a, b};
    }
}

/// The largest f(i); NaN if any is NaN; −inf if there is none. Of a tie in duals the first one, with its tangent.
template <class T, class F> FAST inline T max(std::size_t n, F f) {
    if constexpr (is_simd<T>) {
        T m = -static_cast<T>(__builtin_inf()), nans = 0; // m alone would forget a NaN: x > m is false
#pragma omp simd reduction(max : m) reduction(+ : nans)
        for (std::size_t i = 0; i < n; ++i) {
            const T x = f(i);
            m = x > m ? x : m;
            nans += x == x ? T(0) : T(1);
        }
        return nans > 0 ? static_cast<T>(__builtin_nan("")) : m;
    } else {
        T m(-__builtin_inf());
        for (std::size_t i = 0; i < n; ++i) {
            const T x = f(i);
            if (x > m || x != x) m = x; // a NaN stays: nothing is larger
        }
        return m;
    }
}

} // namespace chalkgrad::CHALKGRAD_ISA

#ifndef CHALKGRAD_KERNELS_ONLY
namespace chalkgrad::detail {

// What kernel::name<T> is: an object with the call of base::name<T>, and the AVX2 table's entry where there is one.
template <class Function> struct Dispatch;
template <class R, class... A> struct Dispatch<R (*)(A...)> {
    R (*base)(A...);
    R (*const* avx2)(A...);
    R operator()(A... args) const { return (avx2 != nullptr && isa() == Isa::avx2 ? *avx2 : base)(args...); }
};

template <class T> constexpr auto table_entry(auto of_double, auto of_float) {
    if constexpr (std::is_same_v<T, double>) return of_double;
    else if constexpr (std::is_same_v<T, float>) return of_float;
    else return nullptr;
}

} // namespace chalkgrad::detail
#endif

/// CHALKGRAD_KERNEL(name), at global scope after the kernel: makes chalkgrad::kernel::name<T>(args...), which calls the
/// kernel compiled for the instruction set in use (double and float), or the only one there is (long double, Dual).
#if defined(CHALKGRAD_KERNELS_ONLY)
#define CHALKGRAD_KERNEL(name)                                          \
    namespace chalkgrad::avx2 {                                         \
    extern const decltype(&name<double>) name##_double = &name<double>; \
    extern const decltype(&name<float>) name##_float = &name<float>;    \
    }
#elif defined(CHALKGRAD_NO_AVX2)
#define CHALKGRAD_KERNEL(name)                                                                                    \
    namespace chalkgrad::kernel {                                                                                 \
    template <class T> inline constexpr detail::Dispatch<decltype(&base::name<T>)> name{&base::name<T>, nullptr}; \
    }
#else
#define CHALKGRAD_KERNEL(name)                                                              \
    namespace chalkgrad::avx2 {                                                             \
    extern const decltype(&base::name<double>) name##_double;                               \
    extern const decltype(&base::name<float>) name##_float;                                 \
    }                                                                                       \
    namespace chalkgrad::kernel {                                                           \
    template <class T>                                                                      \
    inline constexpr detail::Dispatch<decltype(&base::name<T>)> name{                       \
        &base::name<T>, detail::table_entry<T>(&avx2::name##_double, &avx2::name##_float)}; \
    }
#endif
