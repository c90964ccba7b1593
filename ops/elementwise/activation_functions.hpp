// The activation functions as kernels write them: value and slope, each from one exponential, right to the ends of the axis.
//
// x f(x) with f(−∞) = 0 would be −∞·0 = NaN at −inf. So x is held at a point beyond which f is 0 (and x f(x) is −0, its limit)
// in every scalar. The slopes hold x on both sides.
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// Comparisons with NaN are false: NaN passes.
template <class T> FAST inline T held_below(T x, T limit) { return x < -limit ? -limit : x; }
template <class T> FAST inline T held(T x, T limit) { return x < -limit ? -limit : x > limit ? limit : x; }

/// −|x|. Not by abs() for duals: it has slope 0 at 0, and the two sides of x = 0 would not join.
template <class T> FAST inline T minus_abs(T x) {
    if constexpr (is_simd<T>) return -abs(x);
    else return x < 0 ? x : -x;
}

/// σ(−|z|): the smaller of σ(z) and σ(−z). The other one is 1 − that, which loses no digit.
template <class T> FAST inline T smaller_sigmoid(T z) {
    if constexpr (is_simd<T>) {
        return elementary::sigmoid_of_negative(-abs(z));
    } else {
        const T e = exp(minus_abs(z));
        return e / (1 + e);
    }
}

/// σ(z) and σ(−z).
template <class T> struct Sigmoids { T of_z, of_minus_z; };
template <class T> FAST inline Sigmoids<T> sigmoids(T z, T smaller) {
    const T larger = 1 - smaller;
    return {z < 0 ? smaller : larger, z < 0 ? larger : smaller};
}

/// tanh′ z = sech² z = 4 e/(1 + e)², e = exp(−2|z|). 1 − tanh² z cancels in the tails: at 10 eight digits are gone.
template <class T> FAST inline T sech_squared(T z) {
    const T e = exp(2 * minus_abs(z)), d = 1 + e;
    return 4 * e / (d * d);
}

// NaN fails the comparison and stays.
struct Relu {
    static constexpr double kink = 0;
    template <class T> static FAST T y(T x) { return x <= 0 ? T(0) : x; }
    template <class T> static FAST T gx(T x, T, T gy) { return x > 0 ? gy : T(0); }
};

// σ′ = σ(x) σ(−x), the smaller one by itself: y (1 − y) is 0 from 37 on.
struct Sigmoid {
    template <class T> static FAST T y(T x) { return sigmoid(x); }
    template <class T> static FAST T gx(T x, T, T gy) {
        const T s = smaller_sigmoid(x);
        return gy * (s * (1 - s));
    }
};

// log(1 + eˣ) = max(x, 0) + log(1 + e^−|x|), slope σ(x).
struct Softplus {
    template <class T> static FAST T y(T x) { return (x > 0 ? x : T(0)) + log1p(exp(x > 0 ? -x : x)); }
    template <class T> static FAST T gx(T x, T, T gy) { return gy * sigmoid(x); }
};

// x σ(αx), slope σ(αx) (1 + αx σ(−αx)); α > 0. α = 1 is silu, α = 1.702 quick_gelu. e^−20000 is 0 in long double too.
struct Swish {
    template <class T> static FAST T y(T x, T alpha) {
        x = held_below(x, 20000 / alpha);
        return x * sigmoid(alpha * x);
    }
    template <class T> static FAST T slope(T x, T alpha) {
        const T z = alpha * held(x, 20000 / alpha);
        const Sigmoids<T> s = sigmoids(z, smaller_sigmoid(z));
        return s.of_z * (1 + z * s.of_minus_z);
    }
};
struct Silu {
    template <class T> static FAST T y(T x) { return Swish::y(x, T(1)); }
    template <class T> static FAST T gx(T x, T, T gy) { return gy * Swish::slope(x, T(1)); }
};

// x Φ(x), Φ(x) = ½ erfc(−x/√2); slope Φ(x) + x φ(x), φ(x) = exp(−x²/2)/√(2π). 1 + erf(x/√2) would cancel for negative x.
struct GeluErf {
    template <class T> static FAST T cdf(T x) { return T(0.5) * erfc(x * T(-0.707106781186547524400844362104849039L)); }
    template <class T> static FAST T density(T x) {
        return T(0.398942280401432677939946059934381868L) * exp(T(-0.5) * x * x);
    }
    template <class T> static FAST T y(T x) {
        x = held_below(x, T(200));
        return x * cdf(x);
    }
    template <class T> static FAST T gx(T x, T, T gy) {
        x = held(x, T(200));
        return gy * (cdf(x) + x * density(x));
    }
};

// ½ x (1 + tanh u) = x σ(2u), 2u = k (x + 0.044715 x³), k = 2 √(2/π); slope σ(2u) (1 + x σ(−2u) k (1 + 3·0.044715 x²)).
// The form with tanh would cancel for negative x.
struct GeluTanh {
    template <class T> static FAST T twice_u(T x) {
        return T(1.595769121605730711759542411396L) * x * (1 + T(0.044715L) * (x * x));
    }
    template <class T> static FAST T y(T x) {
        x = held_below(x, T(200));
        return x * sigmoid(twice_u(x));
    }
    template <class T> static FAST T gx(T x, T, T gy) {
        x = held(x, T(200));
        const T z = twice_u(x);
        const Sigmoids<T> s = sigmoids(z, smaller_sigmoid(z));
        const T bend = T(1.595769121605730711759542411396L) * (1 + T(0.134145L) * (x * x));
        return gy * (s.of_z * (1 + x * (s.of_minus_z * bend)));
    }
};

} // namespace chalkgrad::CHALKGRAD_ISA
