// Walks the rows of a broadcast operation, so that kernels of two operands see equal, contiguous rows.
#pragma once // internal

#include <algorithm>
#include <cstddef>

#include <chalkgrad/autograd/tape/rule.hpp>

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
        if (inner_ == 0 || outer_size_ == 0) return;
        std::size_t index[Shape::max_rank] = {};
        std::size_t a = 0, b = 0, y = 0;
        for (std::size_t row = 0; row < outer_size_; ++row) {
            for (std::size_t begin = 0; begin < inner_; begin += longest)
                f(Row{a + begin * a_step_, b + begin * b_step_, y + begin, std::min(longest, inner_ - begin)});
            y += inner_;
            for (std::size_t k = outer_rank_; k-- > 0;) {
                a += a_stride_[k];
                b += b_stride_[k];
                if (++index[k] < outer_[k]) break;
                a -= a_stride_[k] * outer_[k];
                b -= b_stride_[k] * outer_[k];
                index[k] = 0;
            }
        }
    }
    /// Whether an operand is one number along a row.
    bool a_is_number() const { return a_step_ == 0; }
    bool b_is_number() const { return b_step_ == 0; }

private:
    std::size_t inner_ = 1, a_step_ = 1, b_step_ = 1;
    std::size_t outer_rank_ = 0, outer_size_ = 1;
    std::size_t outer_[Shape::max_rank] = {}, a_stride_[Shape::max_rank] = {}, b_stride_[Shape::max_rank] = {};
};

/// A row of an operand with unit stride: where it lies, or `buffer` filled with the one number it is.
template <class T> const T* unit_row(const T* row, bool is_number, std::size_t n, T* buffer) {
    if (!is_number) return row;
    if (n == 1) return row;
    std::fill_n(buffer, n, *row);
    return buffer;
}

} // namespace chalkgrad
