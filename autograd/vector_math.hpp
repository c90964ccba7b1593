// Element functions of kernels: one name for every scalar, found unqualified in chalkgrad::CHALKGRAD_ISA (and by ADL for Dual).
#pragma once

// Builtins, not <cmath>: see kernel.hpp.
#define CHALKGRAD_ELEMENT(name)                                                                                                   \
    FAST inline float name(float x) { return __builtin_##name##f(x); }                                                            \
    FAST inline double name(double x) { return __builtin_##name(x); }                                                             \
    FAST inline long double name(long double x) { return __builtin_##name##l(x); }

namespace chalkgrad::CHALKGRAD_ISA {

CHALKGRAD_ELEMENT(sqrt)
CHALKGRAD_ELEMENT(exp)
CHALKGRAD_ELEMENT(expm1)
CHALKGRAD_ELEMENT(log)
CHALKGRAD_ELEMENT(log1p)
CHALKGRAD_ELEMENT(tanh)
CHALKGRAD_ELEMENT(erf)
CHALKGRAD_ELEMENT(erfc)
CHALKGRAD_ELEMENT(sin)
CHALKGRAD_ELEMENT(cos)

FAST inline float abs(float x) { return __builtin_fabsf(x); }
FAST inline double abs(double x) { return __builtin_fabs(x); }
FAST inline long double abs(long double x) { return __builtin_fabsl(x); }

FAST inline float pow(float x, float y) { return __builtin_powf(x, y); }
FAST inline double pow(double x, double y) { return __builtin_pow(x, y); }
FAST inline long double pow(long double x, long double y) { return __builtin_powl(x, y); }

FAST inline float hypot(float x, float y) { return __builtin_hypotf(x, y); }
FAST inline double hypot(double x, double y) { return __builtin_hypot(x, y); }
FAST inline long double hypot(long double x, long double y) { return __builtin_hypotl(x, y); }

template <class T>
FAST inline T sigmoid_of(T z) {
    const T e = exp(-abs(z));
    return (z < 0 ? e : T(1)) / (1 + e);
}
FAST inline float sigmoid(float z) { return sigmoid_of(z); }
FAST inline double sigmoid(double z) { return sigmoid_of(z); }
FAST inline long double sigmoid(long double z) { return sigmoid_of(z); }

FAST inline bool isfinite(float x) { return x - x == 0; }
FAST inline bool isfinite(double x) { return x - x == 0; }
FAST inline bool isfinite(long double x) { return x - x == 0; }

} // namespace chalkgrad::CHALKGRAD_ISA

#undef CHALKGRAD_ELEMENT
