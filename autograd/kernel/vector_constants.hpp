// The numbers behind vector_math.hpp: formats, range reduction, and polynomial coefficients of float and double.
#pragma once // internal

#include <cstdint>

#include <chalkgrad/autograd/kernel/compilation.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// Each polynomial is the minimax one (Remez exchange in 50 digits), rounded to the format; constant term first. The
// error given is that of the rounded polynomial, relative to the function computed.
template <class T> struct Constants;

template <> struct Constants<double> {
    using Bits = std::uint64_t;
    static constexpr int fraction = 52; // bits of the stored significand
    static constexpr Bits bias = 1023;

    // ln 2 = ln2_hi + ln2_lo; ln2_hi ends in 21 zero bits, so k·ln2_hi is exact for every exponent k.
    static constexpr double log2_e = 1.4426950408889634, ln2_hi = 0x1.62e42feep-1, ln2_lo = 1.9082149292705877e-10;
    static constexpr double exp_max = 710, exp_min = -746; // beyond, exp is inf or 0
    static constexpr double expm1_min = -50;               // below, expm1 is -1
    static constexpr double min_normal = 0x1p-1022, max_finite = 0x1.fffffffffffffp+1023,
                            root_half = 0x1.6a09e667f3bcdp-1;

    // (e^r − 1 − r)/r² on |r| ≤ ln 2 / 2: e^r to 2^-60, e^r − 1 to 2^-59.
    static constexpr double exp_q[] = {0.5, 0.16666666666666677, 0.0416666666666667, 0.008333333333322195,
        0.0013888888888867936, 0.00019841269884824454, 2.480158735876031e-05, 2.7557245428305e-06,
        2.7557244080032536e-07, 2.5108636937546792e-08, 2.0924083312097637e-09};
    // tanh(r/2)/r as tanh_p(r²)/tanh_q(r²) on the same r: (1 + t)/(1 − t) with t = tanh(r/2) is e^r to 2^-56. The scale of
    // both keeps tanh_q + r tanh_p just below a power of two, where rounding is finest.
    static constexpr double tanh_p[] = {428.4, 11.900000223184323, 0.02833331492506729},
                            tanh_q[] = {856.8, 95.2000004463787, 0.85};
    static constexpr Bits room = 64; // 2^(k + room) is a normal number for every k that exp_min leaves
    // (log((1 + s)/(1 − s))/s − 2)/z in z = s² ≤ (√2 − 1)⁴: the logarithm to 2^-59.2.
    static constexpr double log_r[] = {0.6666666666666726, 0.39999999999458663, 0.2857142873400259, 0.22222199338000792,
        0.18183528173206023, 0.15314905255633934, 0.1478795601127747};
    // erf(x)/x − 1 in x² ≤ 1, to 2^-55.2.
    static constexpr double erf_q[] = {0.12837916709551256, -0.3761263890318352, 0.11283791670944185,
        -0.02686617064311144, 0.005223977606118296, -0.0008548325929306829, 0.00012055293576686918,
        -1.4924712298094114e-05, 1.6447131524503547e-06, -1.6206313408057644e-07, 1.37109789045861e-08,
        -7.779465729549996e-10};
    // (a + K) exp(a²) erfc(a) in q = (a − K)/(a + K), 1 ≤ a ≤ erfc_max, to 2^-55.2.
    static constexpr double erfc_k = 3.25, erfc_max = 27.5; // erfc(27.5) is less than half the smallest subnormal
    static constexpr double erfc_t[] = {1.0811797647743422, -0.9129949832951061, 0.6457337773843079,
        -0.37516494226375496, 0.17200591888537994, -0.056675219033287476, 0.00952932179044805, 0.001807324761156163,
        -0.0014879109656655465, 0.0001593604605714998, 0.00014751061644462855, -4.313959698574297e-05,
        -1.5309283783619252e-05, 7.432648370701452e-06, 2.009665319470562e-06, -1.2154276107722347e-06,
        -3.4337871860987315e-07, 2.0406666425299574e-07, 5.311971823622214e-08, -3.13886456239162e-08};
};

template <> struct Constants<float> {
    using Bits = std::uint32_t;
    static constexpr int fraction = 23;
    static constexpr Bits bias = 127;

    static constexpr float log2_e = 1.44269504f, ln2_hi = 0x1.62e4p-1f, ln2_lo = 1.42860677e-6f;
    static constexpr float exp_max = 89, exp_min = -104, expm1_min = -25;
    static constexpr float min_normal = 0x1p-126f, max_finite = 0x1.fffffep+127f, root_half = 0x1.6a09e6p-1f;

    // As for double: e^r to 2^-30 and e^r − 1 to 2^-28.7, by tanh to 2^-31.8; log to 2^-29.8; erf(x)/x to 2^-28.6; erfc to
    // 2^-25.2.
    static constexpr float exp_q[] = {0.5f, 0.16666667f, 0.041666366f, 0.008333274f, 0.0013940375f, 0.00019913728f};
    static constexpr float tanh_p[] = {6.7014313f, 0.111547865f}, tanh_q[] = {13.402863f, 1.34f};
    static constexpr Bits room = 32;
    static constexpr float log_r[] = {0.66666776f, 0.3997772f, 0.29867992f};
    static constexpr float erf_q[] = {
        0.12837917f, -0.37612626f, 0.112835854f, -0.026853813f, 0.0051883277f, -0.00080101937f, 7.853861e-05f};
    static constexpr float erfc_k = 2.25f, erfc_max = 10.25f;
    static constexpr float erfc_t[] = {1.0398927f, -0.75195915f, 0.37151578f, -0.10120358f, -0.0035824555f, 0.01156115f,
        -0.00090603903f, -0.0011942273f};
};

} // namespace chalkgrad::CHALKGRAD_ISA
