// How NumPy's Generator turns words into numbers. Built with -ffp-contract=off: a fused multiply-add would change last
// bits.
#include <chalkgrad/autograd/numpy/random.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include <chalkgrad/autograd/numpy/ziggurat.hpp>

namespace chalkgrad {
namespace {

/// Draws all of `out` from a copy of the bits kept in registers.
template <class T, class Draw> void fill(Pcg64& bits, std::span<T> out, Draw draw) {
    Pcg64 local = bits;
    for (T& x : out) x = draw(local);
    bits = local;
}

template <class T> T unit(Pcg64& bits);
template <> double unit<double>(Pcg64& bits) { return static_cast<double>(bits.next64() >> 11) * 0x1p-53; }
template <> float unit<float>(Pcg64& bits) { return static_cast<float>(bits.next32() >> 8) * 0x1p-24f; }

/// Marsaglia's tail: exponentials beyond the last layer's edge, thinned to the normal's fall.
template <class T> T tail(Pcg64& bits, bool negative) {
    constexpr T start = static_cast<T>(detail::ziggurat_tail);
    constexpr T inverse = static_cast<T>(detail::ziggurat_tail_inverse);
    for (;;) {
        const T beyond = -inverse * std::log1p(-unit<T>(bits));
        const T y = -std::log1p(-unit<T>(bits));
        if (y + y > beyond * beyond) return negative ? -(start + beyond) : start + beyond;
    }
}

/// Without a branch: mispredicted every other time, it would make a draw four times as dear.
template <class T> T with_sign(T size, bool negative) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    return std::bit_cast<T>(std::bit_cast<Bits>(size) | Bits{negative} << (8 * sizeof(T) - 1));
}

/// One word holds it all: 8 bits choose the layer, 1 the sign, the rest is the magnitude.
template <class T> T normal_draw(Pcg64& bits, const detail::Ziggurat<T>& z) {
    constexpr std::uint64_t magnitudes = (std::uint64_t{1} << detail::Ziggurat<T>::magnitude_bits) - 1;
    for (;;) {
        const std::uint64_t word = std::is_same_v<T, double> ? bits.next64() : bits.next32();
        const std::size_t layer = word & 0xff;
        const std::uint64_t magnitude = word >> 9 & magnitudes;
        const T x = with_sign(static_cast<T>(magnitude) * z.width[layer], word >> 8 & 1);
        if (magnitude < z.accept[layer]) return x; // 98.5 % of the draws
        // The tail takes its sign from the magnitude, not from the sign bit.
        if (layer == 0) return tail<T>(bits, magnitude >> 8 & 1);
        const T y = (z.height[layer - 1] - z.height[layer]) * unit<T>(bits) + z.height[layer];
        if (static_cast<double>(y) < std::exp(-0.5 * static_cast<double>(x) * static_cast<double>(x))) return x;
    }
}

/// A word of W bits with uniform values 0 … range (D. Lemire, 2019): the high half of
/// word · (range + 1), where words whose low half is below 2^W mod (range + 1) are drawn again.
template <class Word, class Wide, class Next> Word up_to(Word range, Next next) {
    if (range == std::numeric_limits<Word>::max()) return next();
    const Word n = static_cast<Word>(range + 1);
    auto draw = [&] { return static_cast<Wide>(static_cast<Wide>(next()) * n); };
    Wide product = draw();
    if (static_cast<Word>(product) < n) {
        const Word excess = static_cast<Word>(static_cast<Word>(-n) % n);
        while (static_cast<Word>(product) < excess) product = draw();
    }
    return static_cast<Word>(product >> std::numeric_limits<Word>::digits);
}

std::uint64_t up_to(std::uint64_t range, Pcg64& bits) {
    if (range <= std::numeric_limits<std::uint32_t>::max())
        return up_to<std::uint32_t, std::uint64_t>(static_cast<std::uint32_t>(range), [&] { return bits.next32(); });
    return up_to<std::uint64_t, uint128>(range, [&] { return bits.next64(); });
}

/// Cuts 32-bit words into small ones, lowest first; what is left of the last one is dropped after the call.
template <class Word, int width> class Slices {
public:
    Word next(Pcg64& bits) {
        if (left_ == 0) {
            word_ = bits.next32();
            left_ = 32 / width;
        } else {
            word_ >>= width;
        }
        --left_;
        return static_cast<Word>(word_);
    }

private:
    std::uint32_t word_ = 0;
    int left_ = 0;
};

std::string decimal(int128 n) { return fmt::format("{}", n); }

template <class I> constexpr const char* integer_name() {
    if constexpr (std::is_same_v<I, bool>) return "bool";
    constexpr const char* names[2][4] = {{"uint8", "uint16", "uint32", "uint64"}, {"int8", "int16", "int32", "int64"}};
    return names[std::is_signed_v<I>][sizeof(I) == 1 ? 0 : sizeof(I) == 2 ? 1 : sizeof(I) == 4 ? 2 : 3];
}

} // namespace

void Generator::fill_raw(std::span<std::uint64_t> out) {
    fill(bits_, out, [](Pcg64& bits) { return bits.next64(); });
}

void Generator::fill_random(std::span<double> out) { fill(bits_, out, unit<double>); }

void Generator::fill_random(std::span<float> out) { fill(bits_, out, unit<float>); }

void Generator::fill_standard_normal(std::span<double> out) {
    fill(bits_, out, [&z = detail::ziggurat<double>()](Pcg64& bits) { return normal_draw(bits, z); });
}

void Generator::fill_standard_normal(std::span<float> out) {
    fill(bits_, out, [&z = detail::ziggurat<float>()](Pcg64& bits) { return normal_draw(bits, z); });
}

void Generator::fill_normal(double loc, double scale, std::span<double> out) {
    if (std::isnan(scale) || std::signbit(scale))
        throw Error(fmt::format("normal: scale {} is not >= 0; give a standard deviation", scale));
    fill(bits_, out, [=, &z = detail::ziggurat<double>()](Pcg64& bits) { return loc + scale * normal_draw(bits, z); });
}

void Generator::fill_uniform(double low, double high, std::span<double> out) {
    const double range = high - low;
    if (!std::isfinite(range) || range < 0)
        throw Error(
            fmt::format("uniform: from {} to {} is no range; give low <= high with a finite difference", low, high));
    fill(bits_, out, [=](Pcg64& bits) { return low + range * unit<double>(bits); });
}

template <class I> void Generator::fill_integers(int128 low, int128 high, std::span<I> out, Endpoint endpoint) {
    using Limits = std::numeric_limits<I>;
    const int128 last = endpoint == Endpoint::closed ? high : high - 1;
    if (last < low) {
        const char* bracket = endpoint == Endpoint::closed ? "]" : ")";
        throw Error(fmt::format("integers: [{}, {}{} is empty; give low < high", decimal(low), decimal(high), bracket));
    }
    if (low < Limits::min() || last > Limits::max())
        throw Error(fmt::format("integers: {} … {} does not fit {}, {} … {}; narrow the range or take a wider type",
            decimal(low), decimal(last), integer_name<I>(), decimal(Limits::min()), decimal(Limits::max())));

    const auto range = static_cast<std::uint64_t>(last - low);
    auto shifted = [=](std::uint64_t n) { return static_cast<I>(static_cast<std::uint64_t>(low) + n); };
    if (range == 0) {
        std::fill(out.begin(), out.end(), shifted(0)); // no bits are used
    } else if constexpr (std::is_same_v<I, bool>) {
        fill(bits_, out,
            [slices = Slices<std::uint8_t, 1>()](Pcg64& bits) mutable { return (slices.next(bits) & 1) != 0; });
    } else if constexpr (sizeof(I) <= 2) {
        using Word = std::make_unsigned_t<I>;
        using Wide = std::conditional_t<sizeof(I) == 1, std::uint16_t, std::uint32_t>;
        fill(bits_, out, [=, slices = Slices<Word, 8 * sizeof(I)>()](Pcg64& bits) mutable {
            return shifted(up_to<Word, Wide>(static_cast<Word>(range), [&] { return slices.next(bits); }));
        });
    } else {
        fill(bits_, out, [=](Pcg64& bits) { return shifted(up_to(range, bits)); });
    }
}

template void Generator::fill_integers(int128, int128, std::span<bool>, Endpoint);
template void Generator::fill_integers(int128, int128, std::span<std::int8_t>, Endpoint);
template void Generator::fill_integers(int128, int128, std::span<std::uint8_t>, Endpoint);
template void Generator::fill_integers(int128, int128, std::span<std::int16_t>, Endpoint);
template void Generator::fill_integers(int128, int128, std::span<std::uint16_t>, Endpoint);
template void Generator::fill_integers(int128, int128, std::span<std::int32_t>, Endpoint);
template void Generator::fill_integers(int128, int128, std::span<std::uint32_t>, Endpoint);
template void Generator::fill_integers(int128, int128, std::span<std::int64_t>, Endpoint);
template void Generator::fill_integers(int128, int128, std::span<std::uint64_t>, Endpoint);

// A shuffle draws its places in NumPy's older way: as many bits as `last` has, again while they exceed it.
std::size_t Generator::index_up_to(std::size_t last) {
    const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(std::uint64_t{last});
    const bool narrow = last <= std::numeric_limits<std::uint32_t>::max();
    for (;;) {
        const std::uint64_t draw = (narrow ? bits_.next32() : bits_.next64()) & mask;
        if (draw <= last) return draw;
    }
}

} // namespace chalkgrad
