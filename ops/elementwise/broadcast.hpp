// Walks the rows of a broadcast operation, so that kernels of two operands see equal, contiguous rows.
#pragma once // internal

#include <algorithm>
#include <cstddef>

#include <chalkgrad/autograd/base/odometer.hpp>

namespace chalkgrad {

/// The output of a broadcast operation as rows of the longest stretch on which each operand is either contiguous or one
/// number; rows longer than a buffer that stays in the cache are cut.
class BroadcastRows {
public:
    BroadcastRows(const Shape& a, const Shape& b, const Shape& y);

    /// Longest row handed out.
    static constexpr std::size_t longest = 1024;

    struct Row {
        std::size_t a, b, y; ///< where the row begins in each array
        std::size_t n;       ///< its length
    };
    /// Calls f(Row) for every row, in the order of y.
    template <class F> void each_row(F&& f) const {
        outer_.each([&](const Odometer<3>::Places& at) {
            for (std::size_t begin = 0; begin < inner_; begin += longest) {
                const auto place = [&](std::size_t array, std::size_t step) {
                    return static_cast<std::size_t>(at[array]) + begin * step;
                };
                f(Row{place(0, a_step_), place(1, b_step_), place(2, 1), std::min(longest, inner_ - begin)});
            }
        });
    }
    /// Whether an operand is one number along a row.
    bool a_is_number() const { return a_step_ == 0; }
    bool b_is_number() const { return b_step_ == 0; }

private:
    std::size_t inner_ = 1, a_step_ = 1, b_step_ = 1;
    Odometer<3> outer_; // of the rows, in a, b and y
};

/// A row of an operand with unit stride: where it lies, or `buffer` filled with the one number it is.
template <class T> const T* unit_row(const T* row, bool is_number, std::size_t n, T* buffer) {
    if (!is_number || n == 1) return row;
    std::fill_n(buffer, n, *row);
    return buffer;
}

} // namespace chalkgrad
