// Dual numbers: a value and its tangent. Running a rule on them is forward mode, with no second set of formulas.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

namespace chalkgrad {

/// v + d·ε with ε² = 0. Arithmetic carries the tangent by the product and quotient rules; comparisons look at the value
/// only, so a `?:` in a forward chooses the tangent of the branch it takes. Plain numbers convert to constants (d = 0).
template <class T> struct Dual {
    T v{}, d{};

    constexpr Dual() = default;
    constexpr Dual(T value, T tangent = T(0)) : v(value), d(tangent) {}
    template <class U>
    requires(std::is_arithmetic_v<U> && !std::is_same_v<U, T>) constexpr Dual(U value) : v(static_cast<T>(value)) {}

    friend constexpr Dual operator+(Dual a) { return a; }
    friend constexpr Dual operator-(Dual a) { return {-a.v, -a.d}; }
    friend constexpr Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
    friend constexpr Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
    friend constexpr Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
    friend constexpr Dual operator/(Dual a, Dual b) {
        const T q = a.v / b.v;
        return {q, (a.d - q * b.d) / b.v};
    }

    constexpr Dual& operator+=(Dual b) { return *this = *this + b; }
    constexpr Dual& operator-=(Dual b) { return *this = *this - b; }
    constexpr Dual& operator*=(Dual b) { return *this = *this * b; }
    constexpr Dual& operator/=(Dual b) { return *this = *this / b; }

    friend constexpr bool operator==(Dual a, Dual b) { return a.v == b.v; }
    friend constexpr bool operator!=(Dual a, Dual b) { return a.v != b.v; }
    friend constexpr bool operator<(Dual a, Dual b) { return a.v < b.v; }
    friend constexpr bool operator>(Dual a, Dual b) { return a.v > b.v; }
    friend constexpr bool operator<=(Dual a, Dual b) { return a.v <= b.v; }
    friend constexpr bool operator>=(Dual a, Dual b) { return a.v >= b.v; }
};

namespace detail {

// f(x) with slope f′(x). A constant stays one where the slope is infinite: sqrt(0), log(0), pow(0, 0.5).
template <class T> constexpr T along(T slope, T tangent) { return tangent == T(0) ? T(0) : slope * tangent; }

// e/(1 + e)² with e = exp(−|x|): the slope of the sigmoid, and a quarter of that of tanh at x/2.
template <class T> T bell(T x) {
    using std::exp;
    const T e = exp(x < T(0) ? x : -x), s = T(1) + e;
    return e / (s * s);
}

inline constexpr long double two_over_root_pi = 1.128379167095512573896158903121545172L;

} // namespace detail

// y = f(x) with a function of <cmath>, or with this one where T is a dual number itself; its slope in terms of x and y.
#define CHALKGRAD_DUAL(f, slope)                             \
    template <class T> Dual<T> f(Dual<T> argument) {         \
        using std::f;                                        \
        const T x = argument.v, y = f(x);                    \
        {                                                    \
            using std::cos, std::exp, std::sin;              \
            return {y, detail::along<T>(slope, argument.d)}; \
        }                                                    \
    }
CHALKGRAD_DUAL(sqrt, T(1) / (T(2) * y))
CHALKGRAD_DUAL(exp, y)
CHALKGRAD_DUAL(expm1, exp(x))
CHALKGRAD_DUAL(log, T(1) / x)
CHALKGRAD_DUAL(log1p, T(1) / (T(1) + x))
CHALKGRAD_DUAL(sin, cos(x))
CHALKGRAD_DUAL(cos, -sin(x))
CHALKGRAD_DUAL(tanh, T(4) * detail::bell(T(2) * x)) // sech², exact in the tails, where 1 − tanh² cancels
CHALKGRAD_DUAL(erf, T(detail::two_over_root_pi) * exp(-x * x))
CHALKGRAD_DUAL(erfc, T(-detail::two_over_root_pi) * exp(-x * x))
#undef CHALKGRAD_DUAL

/// σ = 1/(1 + e^−z), computed as e/(1 + e) for negative z.
template <class T> Dual<T> sigmoid(Dual<T> z) {
    using std::exp;
    const T e = exp(z.v < T(0) ? z.v : -z.v);
    return {(z.v < T(0) ? e : T(1)) / (T(1) + e), detail::along(detail::bell(z.v), z.d)};
}

/// |x|, with slope 0 at the kink.
template <class T> constexpr Dual<T> abs(Dual<T> x) { return x.v < T(0) ? -x : x.v == T(0) ? Dual<T>(T(0)) : x; }

/// x^y; the slope in the exponent, x^y·log x, is used only where y varies, so a negative base with a constant exponent
/// works.
template <class T> Dual<T> pow(Dual<T> x, Dual<T> y) {
    using std::log, std::pow;
    const T p = pow(x.v, y.v);
    T d = x.d == T(0) || y.v == T(0) ? T(0) : y.v * pow(x.v, y.v - T(1)) * x.d;
    if (!(y.d == T(0)) && !(x.v == T(0) && y.v > T(0))) d += p * log(x.v) * y.d;
    return {p, d};
}
template <class T> Dual<T> pow(Dual<T> x, std::type_identity_t<T> y) { return pow(x, Dual<T>(y)); }
template <class T> Dual<T> pow(std::type_identity_t<T> x, Dual<T> y) { return pow(Dual<T>(x), y); }

/// √(a² + b²) without overflow; slope 0 at the origin, as for abs.
template <class T> Dual<T> hypot(Dual<T> a, Dual<T> b) {
    using std::hypot;
    const T h = hypot(a.v, b.v);
    return {h, h == T(0) ? T(0) : (a.v / h) * a.d + (b.v / h) * b.d};
}

/// Value and tangent are both finite.
template <class T> constexpr bool isfinite(Dual<T> x) { return x.v - x.v == T(0) && x.d - x.d == T(0); }

} // namespace chalkgrad

// Without this, infinity() and lowest() of a dual would be 0 (the primary template), and a maximum would start at 0.
template <class T> struct std::numeric_limits<chalkgrad::Dual<T>> : std::numeric_limits<T> {
    using D = chalkgrad::Dual<T>;
    using L = std::numeric_limits<T>;
    static constexpr D min() noexcept { return L::min(); }
    static constexpr D max() noexcept { return L::max(); }
    static constexpr D lowest() noexcept { return L::lowest(); }
    static constexpr D epsilon() noexcept { return L::epsilon(); }
    static constexpr D round_error() noexcept { return L::round_error(); }
    static constexpr D infinity() noexcept { return L::infinity(); }
    static constexpr D quiet_NaN() noexcept { return L::quiet_NaN(); }
    static constexpr D signaling_NaN() noexcept { return L::signaling_NaN(); }
    static constexpr D denorm_min() noexcept { return L::denorm_min(); }
};
