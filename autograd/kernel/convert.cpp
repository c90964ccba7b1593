// Conversions on bit patterns, free of branches so that the loops vectorise.
#include <chalkgrad/autograd/kernel/kernel.hpp>

#include <cstdint>

namespace chalkgrad::CHALKGRAD_ISA {

// The small formats: bits of the fraction, and exponent bias.
struct Binary16 {
    static constexpr int fraction = 10, bias = 15;
};
struct Bfloat16 {
    static constexpr int fraction = 7, bias = 127;
};

// The pattern in Small nearest to x, ties to even.
template <class Small, class T> FAST inline std::uint16_t narrowed(T x) {
    using C = Constants<T>;
    using U = typename C::Bits;
    constexpr int shift = C::fraction - Small::fraction;
    constexpr U inf = U(2 * Small::bias + 1) << Small::fraction, quiet = U(1) << (Small::fraction - 1);
    const T a = abs(x);
    const U u = __builtin_bit_cast(U, a), sign = __builtin_bit_cast(U, x) >> (8 * sizeof(T) - 16) & 0x8000;
    // Adding just under half a unit, plus the last kept bit, carries exactly when nearest-even rounds up; a carry out
    // of the fraction is the next power of two, and out of the largest one inf.
    U r = (u - ((C::bias - Small::bias) << C::fraction) + ((U(1) << (shift - 1)) - 1) + (u >> shift & 1)) >> shift;
    if constexpr (C::bias != Small::bias) {
        // Below Small's normal numbers let the addition round: the last bit of `anchor` is Small's smallest subnormal.
        constexpr T anchor = elementary::power_of_two<T>(C::fraction + 1 - Small::bias - Small::fraction);
        const U low = __builtin_bit_cast(U, a + anchor) - __builtin_bit_cast(U, anchor);
        r = a < elementary::power_of_two<T>(1 - Small::bias) ? low : r;
    }
    r = a < elementary::power_of_two<T>(Small::bias + 1) ? r : inf;
    r = a == a ? r : inf | quiet;
    return static_cast<std::uint16_t>(r | sign);
}

// The value of a pattern in Small.
template <class Small> FAST inline float widened(std::uint16_t pattern) {
    constexpr int shift = 23 - Small::fraction;
    const std::uint32_t sign = (pattern & 0x8000u) << 16, u = (pattern & 0x7fffu) << shift;
    if constexpr (Small::bias == 127) {
        return __builtin_bit_cast(float, sign | u);
    } else {
        constexpr std::uint32_t rebias = std::uint32_t(127 - Small::bias) << 23, one = 1u << 23;
        // Subnormals: read with the exponent of the smallest normal and an implied one, which is then taken away.
        const float low =
            __builtin_bit_cast(float, u + rebias + one) - elementary::power_of_two<float>(1 - Small::bias);
        const std::uint32_t v = u < one ? __builtin_bit_cast(std::uint32_t, low) : u + rebias;
        const std::uint32_t w = u < (std::uint32_t(2 * Small::bias + 1) << 23) ? v : u + 2 * rebias; // inf and NaN
        return __builtin_bit_cast(float, sign | w);
    }
}

template <class T> void half_from(std::size_t n, const T* from, std::uint16_t* to) {
    each<T>(n, [=](std::size_t i) FAST { to[i] = narrowed<Binary16>(from[i]); });
}
template <class T> void bfloat16_from(std::size_t n, const T* from, std::uint16_t* to) {
    each<T>(n, [=](std::size_t i) FAST { to[i] = narrowed<Bfloat16>(from[i]); });
}
template <class T> void half_to(std::size_t n, const std::uint16_t* from, T* to) {
    each<T>(n, [=](std::size_t i) FAST { to[i] = widened<Binary16>(from[i]); });
}
template <class T> void bfloat16_to(std::size_t n, const std::uint16_t* from, T* to) {
    each<T>(n, [=](std::size_t i) FAST { to[i] = widened<Bfloat16>(from[i]); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(half_from, bfloat16_from, half_to, bfloat16_to)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/kernel/convert.hpp>

namespace chalkgrad {
namespace {

static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2, "Eigen's half and bfloat16 must be bare 16-bit patterns");

// Both hold nothing but the std::uint16_t of their pattern, so a pointer to one is a pointer to the other.
template <class T> const std::uint16_t* bits(const T* p) { return reinterpret_cast<const std::uint16_t*>(p); }
template <class T> std::uint16_t* bits(T* p) { return reinterpret_cast<std::uint16_t*>(p); }

} // namespace

void convert(std::size_t n, const half* from, float* to) { kernel::half_to<float>(n, bits(from), to); }
void convert(std::size_t n, const half* from, double* to) { kernel::half_to<double>(n, bits(from), to); }
void convert(std::size_t n, const bfloat16* from, float* to) { kernel::bfloat16_to<float>(n, bits(from), to); }
void convert(std::size_t n, const bfloat16* from, double* to) { kernel::bfloat16_to<double>(n, bits(from), to); }
void convert(std::size_t n, const float* from, half* to) { kernel::half_from<float>(n, from, bits(to)); }
void convert(std::size_t n, const double* from, half* to) { kernel::half_from<double>(n, from, bits(to)); }
void convert(std::size_t n, const float* from, bfloat16* to) { kernel::bfloat16_from<float>(n, from, bits(to)); }
void convert(std::size_t n, const double* from, bfloat16* to) { kernel::bfloat16_from<double>(n, from, bits(to)); }

} // namespace chalkgrad
#endif
