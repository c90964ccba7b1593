// The vocabulary kernels are written in, and the macro that compiles each of them once per instruction set.
//
// A kernel is a function template on the scalar, over contiguous rows, in namespace chalkgrad::CHALKGRAD_ISA of an op's
// .cpp. The build compiles that file twice: plainly, and with -mavx2 -mfma -DCHALKGRAD_KERNELS_ONLY. The second object
// may define nothing outside chalkgrad::avx2: an inline function of a library compiled with AVX2 could be picked by the
// linker for everyone. So kernels call only what this header offers, never <cmath> or <algorithm>. All kernels share
// the two namespaces: name a helper after its op, too.
#pragma once // internal

#include <cstddef>

#include <chalkgrad/autograd/base/each.hpp>
#include <chalkgrad/autograd/kernel/compilation.hpp>
#include <chalkgrad/autograd/kernel/vector_math.hpp>
#include <chalkgrad/autograd/kernel/wide.hpp>

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

/// Two numbers computed as one: two sums of one pass, or what two rows have in the same place. Two pairs make four rows.
template <class V> struct Pair { V first, second; };

#define CHALKGRAD_PAIRWISE(op)                                                    \
    template <class V> FAST inline Pair<V> operator op(Pair<V> x, Pair<V> y) {    \
        return {x.first op y.first, x.second op y.second};                        \
    }                                                                             \
    template <class X, class V> FAST inline Pair<V> operator op(X x, Pair<V> y) { \
        return {x op y.first, x op y.second};                                     \
    }                                                                             \
    template <class V, class Y> FAST inline Pair<V> operator op(Pair<V> x, Y y) { \
        return {x.first op y, x.second op y};                                     \
    }
CHALKGRAD_PAIRWISE(+)
CHALKGRAD_PAIRWISE(-)
CHALKGRAD_PAIRWISE(*)
CHALKGRAD_PAIRWISE(/)
#undef CHALKGRAD_PAIRWISE
template <class V> FAST inline Pair<V> pair(V first, V second) { return {first, second}; }

/// Calls f(begin, end) for the terms of a sum from 0 to n, at least once: floats in stretches, whose sums are then added up.
template <class T, std::size_t most = 512, class F> FAST inline void each_stretch(std::size_t n, F f) {
    std::size_t begin = 0;
    do {
        const std::size_t end = __is_same(T, float) && n - begin > most ? begin + most : n;
        f(begin, end);
        begin = end;
    } while (begin < n);
}

/// Σ f(i), i < n, in one partial sum.
template <class T, class F> FAST inline T plain_sum(std::size_t n, F f) {
    T total(0);
    each_stretch<T>(n, [=, &total](std::size_t begin, std::size_t end) FAST {
        T s(0);
        if constexpr (is_simd<T>) {
#pragma omp simd reduction(+ : s)
            for (std::size_t i = begin; i < end; ++i) s += f(i);
        } else {
            for (std::size_t i = begin; i < end; ++i) s += f(i);
        }
        total += s;
    });
    return total;
}

/// Σ f(i), i < n, of numbers, pairs of them, or pairs of pairs. Of float and double in four partial sums: one for each quarter
/// of the range, or two for each half, or one for each number of a pair of pairs.
template <class T, class F> FAST inline auto sum(std::size_t n, F f) {
    using V = decltype(f(n));
    if constexpr (!is_simd<T>) {
        V total{};
        for (std::size_t i = 0; i < n; ++i) total = total + f(i);
        return total;
    } else if constexpr (__is_same(V, T)) {
        const std::size_t q = n / 4;
        auto [ab, cd] = sum<T>(q, [=](std::size_t i) FAST {
            return Pair<Pair<T>>{{f(i), f(q + i)}, {f(2 * q + i), f(3 * q + i)}};
        });
        for (std::size_t i = 4 * q; i < n; ++i) ab.first += f(i);
        return (ab.first + ab.second) + (cd.first + cd.second);
    } else if constexpr (__is_same(V, Pair<T>)) {
        const std::size_t h = n / 2;
        Pair<V> halves = sum<T>(h, [=](std::size_t i) FAST { return Pair<V>{f(i), f(h + i)}; });
        if (n > 2 * h) halves.first = halves.first + f(2 * h);
        return halves.first + halves.second;
    } else {
        V total{};
        each_stretch<T>(n, [=, &total](std::size_t begin, std::size_t end) FAST {
            T a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
            for (std::size_t i = begin; i < end; ++i) {
                const V v = f(i);
                a += v.first.first;
                b += v.first.second;
                c += v.second.first;
                d += v.second.second;
            }
            total = total + V{{a, b}, {c, d}};
        });
        return total;
    }
}
template <class T, class F> FAST inline auto mean(std::size_t n, F f) { return sum<T>(n, f) / T(n); }

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
        // Clang starts the lanes of a max at the lowest finite number: of infinities alone it would find that.
        constexpr T lowest = -static_cast<T>(sizeof(T) == sizeof(float) ? __FLT_MAX__ : __DBL_MAX__);
        if (m == lowest) {
            m = -static_cast<T>(__builtin_inf());
            for (std::size_t i = 0; i < n; ++i) m = f(i) > m ? f(i) : m;
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

// Several rows at a time: they share what depends on the column alone, and their sums, divisions and roots overlap. A loop is
// written once, for `at`: a row, or two or four of them, whose numbers are a Pair or a Pair of Pairs.

/// Row t of arrays of d columns: at(r) is r[t], at(x, j) is x[t d + j].
template <class T> struct Row {
    std::size_t t, d;
    Row(std::size_t first, std::size_t columns) : t(first), d(columns) {}
    template <class X> FAST X& operator()(X* r) const { return r[t]; }
    template <class X> FAST X& operator()(X* x, std::size_t j) const { return x[t * d + j]; }
};
/// Where several rows keep a number each. All are computed before the first is written: the compiler would read what they
/// share again after each.
template <class V> struct Places {
    V first, second;
    template <class P> FAST void operator=(P p) const {
        first = p.first;
        second = p.second;
    }
};
template <class R, std::size_t rows> struct RowPair {
    R first, second;
    RowPair(std::size_t t, std::size_t d) : first(t, d), second(t + rows, d) {}
    template <class X, class... J> FAST auto operator()(const X* x, J... j) const {
        return pair(first(x, j...), second(x, j...));
    }
    template <class X, class... J> FAST auto operator()(X* x, J... j) const {
        return Places<decltype(first(x, j...))>{first(x, j...), second(x, j...)};
    }
};

/// body(at) for all rows, two or four at a time; what is left over, and other scalars than float and double, one by one.
template <class T, class F> FAST inline void each_two_rows(std::size_t rows, std::size_t d, F body) {
    std::size_t t = 0;
    if constexpr (is_simd<T>)
        for (; t + 2 <= rows; t += 2) body(RowPair<Row<T>, 1>(t, d));
    for (; t < rows; ++t) body(Row<T>(t, d));
}
template <class T, class F> FAST inline void each_four_rows(std::size_t rows, std::size_t d, F body) {
    std::size_t t = 0;
    if constexpr (is_simd<T>)
        for (; t + 4 <= rows; t += 4) body(RowPair<RowPair<Row<T>, 1>, 2>(t, d));
    for (; t < rows; ++t) body(Row<T>(t, d));
}

/// The sum of what several rows have in a place.
template <class V> FAST inline V over_rows(V x) { return x; }
template <class V> FAST inline auto over_rows(Pair<V> x) { return over_rows(x.first) + over_rows(x.second); }

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

/// CHALKGRAD_KERNEL(name, …), at global scope after the kernels: makes chalkgrad::kernel::name<T>(args...), which calls the
/// kernel compiled for the instruction set in use (double and float), or the only one there is (long double, Dual).
#define CHALKGRAD_KERNEL(...) CHALKGRAD_EACH(CHALKGRAD_ONE_KERNEL, __VA_ARGS__)
#if defined(CHALKGRAD_KERNELS_ONLY)
#define CHALKGRAD_ONE_KERNEL(name)                                      \
    namespace chalkgrad::avx2 {                                         \
    extern const decltype(&name<double>) name##_double = &name<double>; \
    extern const decltype(&name<float>) name##_float = &name<float>;    \
    }
#elif defined(CHALKGRAD_NO_AVX2)
#define CHALKGRAD_ONE_KERNEL(name)                                                                                \
    namespace chalkgrad::kernel {                                                                                 \
    template <class T> inline constexpr detail::Dispatch<decltype(&base::name<T>)> name{&base::name<T>, nullptr}; \
    }
#else
#define CHALKGRAD_ONE_KERNEL(name)                                                          \
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
