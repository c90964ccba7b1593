// Element functions of kernels, one name for every scalar: found unqualified in CHALKGRAD_ISA, and by ADL for Dual.
//
// For float and double exp, expm1, log, log1p, tanh, sigmoid, erf and erfc have no branch, no table and no call, so the
// compiler vectorises them inside each, sum and max on every instruction set; sin, cos, pow and hypot call libm. The
// special values are those of C's Annex F: NaN, ±inf, ±0, overflow to inf, gradual underflow. Rounding must be to
// nearest. Largest errors met, in units in the last place:
//
//                exp   expm1  log   log1p  tanh  sigmoid  erf   erfc
//     double     0.89  1.8    0.82  0.82   2.5   2.5      1.4   5.4     (erfc down to 1e-308)
//     float      0.87  1.6    0.82  0.83   2.5   2.4      1.3   4.7
#pragma once // internal

#include <chalkgrad/autograd/kernel/vector_constants.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// Builtins, not <cmath>: see kernel.hpp.
#define CHALKGRAD_ELEMENT(name)                                        \
    FAST inline float name(float x) { return __builtin_##name##f(x); } \
    FAST inline double name(double x) { return __builtin_##name(x); }  \
    FAST inline long double name(long double x) { return __builtin_##name##l(x); }
#define CHALKGRAD_ELEMENT_OF_TWO(name)                                             \
    FAST inline float name(float x, float y) { return __builtin_##name##f(x, y); } \
    FAST inline double name(double x, double y) { return __builtin_##name(x, y); } \
    FAST inline long double name(long double x, long double y) { return __builtin_##name##l(x, y); }

CHALKGRAD_ELEMENT(sqrt)
CHALKGRAD_ELEMENT(fabs)
CHALKGRAD_ELEMENT(sin)
CHALKGRAD_ELEMENT(cos)
CHALKGRAD_ELEMENT_OF_TWO(pow)
CHALKGRAD_ELEMENT_OF_TWO(hypot)
CHALKGRAD_ELEMENT_OF_TWO(copysign)

FAST inline float abs(float x) { return fabs(x); }
FAST inline double abs(double x) { return fabs(x); }
FAST inline long double abs(long double x) { return fabs(x); }

/// Neither NaN nor infinite.
FAST inline bool isfinite(float x) { return x - x == 0; }
FAST inline bool isfinite(double x) { return x - x == 0; }
FAST inline bool isfinite(long double x) { return x - x == 0; }

// Methods: Cody & Waite's reduction for exp; fdlibm's form of the logarithm; the map of Shepherd & Laframboise (1981)
// for erfc. In every choice below the comparison is false for NaN, which so passes through.
namespace elementary {

template <class T> using Bits = typename Constants<T>::Bits;

template <class T> FAST constexpr Bits<T> bits(T x) { return __builtin_bit_cast(Bits<T>, x); }
template <class T> FAST constexpr T from_bits(Bits<T> b) { return __builtin_bit_cast(T, b); }

// Σ c[first + i] xⁱ, i < count, in Estrin's form: the two parts of a polynomial side by side, joined with x, x², … x¹⁶.
template <const auto& c, int first, int count, class T> FAST inline T terms(T x, T x2, T x4, T x8, T x16) {
    if constexpr (count == 1) {
        return c[first];
    } else {
        constexpr int half = count > 16 ? 16 : count > 8 ? 8 : count > 4 ? 4 : count > 2 ? 2 : 1;
        const T power = half == 16 ? x16 : half == 8 ? x8 : half == 4 ? x4 : half == 2 ? x2 : x;
        return terms<c, first, half>(x, x2, x4, x8, x16) +
               power * terms<c, first + half, count - half>(x, x2, x4, x8, x16);
    }
}
template <const auto& c, class T> FAST inline T polynomial(T x) {
    static_assert(sizeof c / sizeof(T) <= 32);
    const T x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
    return terms<c, 0, sizeof c / sizeof(T)>(x, x2, x4, x8, x8 * x8);
}

// The same by Horner's rule: fewer operations, and of two or three terms no longer a chain.
template <const auto& c, class T> FAST inline T horner(T x) {
    constexpr int count = sizeof c / sizeof(T);
    T y = c[count - 1];
    for (int i = count - 2; i >= 0; --i) y = y * x + c[i];
    return y;
}

// Adding this rounds to an integer, which then stands in the low bits of the sum (integers far below 2^fraction).
template <class T> inline constexpr T shifter = T(3) * T(Bits<T>(1) << (Constants<T>::fraction - 1));

// 2^k for the k in the low bits: those above are shifted out. Right for normal results, and inf for bias + 1.
template <class T> FAST constexpr T power_of_two(Bits<T> k) {
    return from_bits<T>((k + Constants<T>::bias) << Constants<T>::fraction);
}

// e^(hi + lo) = (1 + p) · first · second, for a hi within exp's range and a tiny lo. hi + lo = k ln 2 + r, and p is
// e^r − 1; 2^k comes in two factors because it may lie outside the normal numbers. The product with `second` is
// the only one that rounds, into subnormals too.
template <class T> struct Exponential { T p, first, second, second_inverse; };
template <class T> FAST inline Exponential<T> exponential(T hi, T lo) {
    using C = Constants<T>;
    const T shifted = hi * C::log2_e + shifter<T>, k = shifted - shifter<T>;
    const T half_shifted = k * T(0.5) + shifter<T>;
    const Bits<T> first = bits(half_shifted), second = bits(shifted) - first;
    const T leading = hi - k * C::ln2_hi, rest = k * C::ln2_lo - lo; // leading is exact; r = leading − rest is not
    const T r = leading - rest;
    const T p = leading + (r * r * polynomial<C::exp_q>(r) - rest);
    return {p, power_of_two<T>(first), power_of_two<T>(second), power_of_two<T>(-second)};
}

// x = k ln 2 + r for an x that is not above 0 (or NaN): r, and 2^(k + room), which stands in the sum's low bits already.
template <class T> struct Reduced { T r, scale; };
template <class T> FAST inline Reduced<T> reduced_negative(T x) {
    using C = Constants<T>;
    constexpr T shift = shifter<T> + T(C::bias + C::room);
    x = x < C::exp_min ? C::exp_min : x;
    const T shifted = x * C::log2_e + shift, k = shifted - shift;
    return {(x - k * C::ln2_hi) - k * C::ln2_lo, from_bits<T>(bits(shifted) << C::fraction)};
}

template <class T> FAST inline T exp(T x) {
    x = x > Constants<T>::exp_max ? Constants<T>::exp_max : x;
    x = x < Constants<T>::exp_min ? Constants<T>::exp_min : x;
    const Exponential<T> e = exponential(x, T(0));
    return (1 + e.p) * e.first * e.second;
}

// 2^k (p + 1) − 1 as 2^k p + (2^k − 1), with `second` taken out.
template <class T> FAST inline T expm1(T x) {
    T y = x > Constants<T>::exp_max ? Constants<T>::exp_max : x;
    y = y < Constants<T>::expm1_min ? Constants<T>::expm1_min : y;
    const Exponential<T> e = exponential(y, T(0));
    y = (e.p * e.first + (e.first - e.second_inverse)) * e.second;
    return x == 0 ? x : y;
}

// log(u) + c + k_more ln 2 for a normal u = 2^k (1 + f), √½ ≤ 1 + f < √2, and a small c:
// log(1 + f) = 2 atanh(s) = f − f²/2 + s (f²/2 + s² R(s²)), s = f/(2 + f); f itself enters, exact, in the last step.
template <class T> FAST inline T log_normal(T u, T c, T k_more) {
    using C = Constants<T>;
    constexpr Bits<T> root_half = __builtin_bit_cast(Bits<T>, C::root_half);
    constexpr Bits<T> one = C::bias << C::fraction, integer = (C::bias + C::fraction) << C::fraction;
    const Bits<T> b = bits(u) + (one - root_half);
    const T k = from_bits<T>(b >> C::fraction | integer) - (T(Bits<T>(1) << C::fraction) + T(C::bias)) + k_more;
    const T f = from_bits<T>((b & ((Bits<T>(1) << C::fraction) - 1)) + root_half) - 1;
    const T s = f / (2 + f), z = s * s, h = f * f * T(0.5);
    return k * C::ln2_hi - ((h - (s * (h + z * polynomial<C::log_r>(z)) + (k * C::ln2_lo + c))) - f);
}

template <class T> FAST inline T log(T x) {
    using C = Constants<T>;
    constexpr T inf = static_cast<T>(__builtin_inf()), nan = static_cast<T>(__builtin_nan(""));
    const bool small = x < C::min_normal;
    const T scale = T(Bits<T>(1) << (C::fraction + 2));
    T y = log_normal(small ? x * scale : x, T(0), small ? T(-C::fraction - 2) : T(0));
    y = x > C::max_finite ? x : y;
    return x > 0 ? y : x == 0 ? -inf : nan;
}

// 1 + x = u + c exactly; log(u + c) = log(u) + c/u.
template <class T> FAST inline T log1p(T x) {
    using C = Constants<T>;
    constexpr T inf = static_cast<T>(__builtin_inf()), nan = static_cast<T>(__builtin_nan(""));
    const T u = 1 + x, c = x < 1 ? x - (u - 1) : 1 - (u - x);
    T y = log_normal(u, c / u, T(0));
    y = x > C::max_finite ? x : y;
    y = x == 0 ? x : y; // two choices, not one with ||: that one keeps log1p(exp(x)) from being vectorised
    return u > 0 ? y : u == 0 ? -inf : nan;
}

// With m = e^(−2|x|) − 1: tanh |x| = −m/(2 + m).
template <class T> FAST inline T tanh(T x) {
    const T m = expm1(-2 * abs(x));
    return copysign(m / (2 + m), x);
}

// σ(x) for an x that is not above 0 (or NaN). With tanh(r/2) = odd/even, e^r is (even + odd)/(even − odd), so one division
// makes the exponential and the quotient e/(1 + e), and it is the only step that rounds into subnormals.
template <class T> FAST inline T sigmoid_of_negative(T x) {
    using C = Constants<T>;
    const Reduced<T> e = reduced_negative(x);
    const T z = e.r * e.r, even = horner<C::tanh_q>(z), odd = e.r * horner<C::tanh_p>(z), top = e.scale * (even + odd);
    return top / (top + power_of_two<T>(C::room) * (even - odd));
}

// The smaller of σ(z) and σ(−z), or 1 − that, which loses no digit.
template <class T> FAST inline T sigmoid(T z) {
    const T s = sigmoid_of_negative(-abs(z));
    return z < 0 ? s : 1 - s;
}

// erfc(a), a ≥ 1: exp(−a²) T(q)/(a + K). a² is split as h² + (a − h)(a + h), h having half the bits of a: h² is exact.
template <class T> FAST inline T erfc_tail(T a) {
    using C = Constants<T>;
    a = a > C::erfc_max ? C::erfc_max : a;
    const T h = from_bits<T>(bits(a) & ~((Bits<T>(1) << (C::fraction / 2 + 1)) - 1));
    const Exponential<T> e = exponential(-h * h, -(a - h) * (a + h));
    const T inverse = 1 / (a + C::erfc_k), t = polynomial<C::erfc_t>((a - C::erfc_k) * inverse) * inverse;
    return (t + t * e.p) * e.first * e.second;
}

template <class T> FAST inline T erf(T x) {
    const T a = abs(x), near = a + a * polynomial<Constants<T>::erf_q>(a * a), far = 1 - erfc_tail(a);
    return copysign(a < 1 ? near : far, x);
}

template <class T> FAST inline T erfc(T x) {
    const T a = abs(x), near = (1 - x) - x * polynomial<Constants<T>::erf_q>(a * a), tail = erfc_tail(a);
    return a < 1 ? near : x < 0 ? 2 - tail : tail;
}

} // namespace elementary

#define CHALKGRAD_VECTOR_ELEMENT(name)                                \
    FAST inline float name(float x) { return elementary::name(x); }   \
    FAST inline double name(double x) { return elementary::name(x); } \
    FAST inline long double name(long double x) { return __builtin_##name##l(x); }

CHALKGRAD_VECTOR_ELEMENT(exp)
CHALKGRAD_VECTOR_ELEMENT(expm1)
CHALKGRAD_VECTOR_ELEMENT(log)
CHALKGRAD_VECTOR_ELEMENT(log1p)
CHALKGRAD_VECTOR_ELEMENT(tanh)
CHALKGRAD_VECTOR_ELEMENT(erf)
CHALKGRAD_VECTOR_ELEMENT(erfc)

FAST inline float sigmoid(float z) { return elementary::sigmoid(z); }
FAST inline double sigmoid(double z) { return elementary::sigmoid(z); }
FAST inline long double sigmoid(long double z) {
    const long double e = exp(-abs(z));
    return (z < 0 ? e : 1) / (1 + e);
}

#undef CHALKGRAD_ELEMENT
#undef CHALKGRAD_ELEMENT_OF_TWO
#undef CHALKGRAD_VECTOR_ELEMENT

} // namespace chalkgrad::CHALKGRAD_ISA
