// Curtis–Powell–Reid colouring: columns of a Jacobian that no output element sees two of share a run of the forward, rows that no
// input element sees two of share a sweep.
#pragma once // internal

#include <cstdint>

#include <chalkgrad/autograd/check/jacobian_blocks.hpp>

namespace chalkgrad::detail {

inline constexpr std::uint32_t nobody = static_cast<std::uint32_t>(-1);

/// Columns of one input that share a run.
struct ColumnColour {
    std::vector<std::size_t> columns;
    Recycling<std::uint32_t> owner; ///< by row of all outputs: its column, or nobody
};

/// How fast a column moves in a shared run, one of several independent draws. Were it the same for all, slopes could cancel: those
/// of a softmax add up to 0. So could those of x0 − x1 − x2 + x3 with weights at equal distances: the bits of column and draw are
/// mixed (the finaliser of SplitMix64). Twenty bits, so that no digit is lost when a step is added to an input.
inline double weight_of(std::size_t column, std::uint64_t draw) {
    std::uint64_t bits = (column + 1) * 0x9E3779B97F4A7C15u + draw * 0xD1B54A32D192ED03u;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
    return 1 + static_cast<double>((bits ^ bits >> 31) >> 44) * 0x1p-20;
}

/// First fit by the zeros of the backward's Jacobian. Those may be wrong, so what a shared run gives is believed only
/// where it agrees with them.
std::vector<ColumnColour> colour_columns(const Jacobians& jacobians, std::size_t x);

/// Rows of output y whose spans do not overlap, so that one sweep gives all of them.
std::vector<std::vector<std::size_t>> colour_rows(const Jacobians& j, std::size_t y);

} // namespace chalkgrad::detail
