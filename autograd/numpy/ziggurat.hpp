// The 256 layers of the ziggurat under exp(-x²/2) that NumPy draws its normals from (Marsaglia and Tsang, 2000).
#pragma once // internal

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace chalkgrad::detail {

/// Where the tail begins, its inverse, and the area of each layer: the rounded one that NumPy's tables were made with.
inline constexpr double ziggurat_tail = 3.6541528853610088, ziggurat_tail_inverse = 0.27366123732975828,
                        ziggurat_area = 0.0049286732339746519;

/// Layers for draws of type T: `width` times the draw's magnitude (52 bits, or 23 for float) is x; a magnitude below
/// `accept` lies under the curve for certain; `height` is exp(-x_i²/2) at the layer's right edge x_i.
template <class T> struct Ziggurat {
    static constexpr int magnitude_bits = std::is_same_v<T, double> ? 52 : 23;
    std::array<T, 256> width, height;
    std::array<std::uint64_t, 256> accept;

    Ziggurat() {
        const std::array<double, 256> x = edges();
        constexpr double one = static_cast<double>(std::uint64_t{1} << magnitude_bits);
        for (std::size_t i = 0; i < 256; ++i) {
            // Layer i is safe up to x_{i-1}: the tail's start for the base, 0 for the top.
            const double safe = i == 0 ? x[255] : i == 1 ? 0.0 : x[i - 1];
            accept[i] = static_cast<std::uint64_t>(std::nearbyint(safe / x[i] * one));
            width[i] = static_cast<T>(x[i] / one);
            height[i] = i == 0 ? T(1) : static_cast<T>(std::exp(-0.5L * x[i] * x[i]));
        }
    }

private:
    /// x_i, from the tail to the top; x_0 is the width of a rectangle of the base's area. In double as NumPy computed
    /// them, but with functions that are rounded right: its table differs by one ulp of one exp, at layer 38.
    static std::array<double, 256> edges() {
        const auto height = [](double x) {
            return static_cast<double>(std::exp(static_cast<long double>(-0.5 * x * x)));
        };
        const auto log = [](double y) { return static_cast<double>(std::log(static_cast<long double>(y))); };
        std::array<double, 256> x;
        x[255] = ziggurat_tail;
        for (std::size_t i = 254; i > 0; --i) {
            const double below = i + 1 == 38 ? std::nextafter(height(x[38]), 1.0) : height(x[i + 1]);
            x[i] = std::sqrt(-2 * log(ziggurat_area / x[i + 1] + below));
        }
        x[0] = ziggurat_area / height(x[255]);
        return x;
    }
};

/// The layers for T, made at the first call.
template <class T> const Ziggurat<T>& ziggurat() {
    static const Ziggurat<T> layers;
    return layers;
}

} // namespace chalkgrad::detail
