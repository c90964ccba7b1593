// Strided views of arrays: what transposing, slicing, joining and repeating have in common.
#pragma once // internal

#include <algorithm>
#include <array>
#include <cstddef>

#include <chalkgrad/autograd/base/shape.hpp>
#include <chalkgrad/autograd/tape/totals.hpp>

namespace chalkgrad {

/// The elements offset + Σ indexᵢ strideᵢ of an array, index running over `extents`; a stride may be negative, or 0 to repeat.
struct View {
    Shape extents;
    std::ptrdiff_t offset = 0;
    std::array<std::ptrdiff_t, Shape::max_rank> strides{};

    /// All of a row-major array.
    static View of(const Shape& shape);
    /// An array of shape `from` repeated to shape `to` by NumPy's rules.
    static View broadcast(const Shape& from, const Shape& to);
};

/// A view cut into runs of equal steps, in tiles where neither side would be read along its memory.
class Runs {
public:
    explicit Runs(const View& view);

    /// Calls f(place in the viewed array, place in the packed array, length, step in the viewed array).
    template <class F> void each(F&& f) const {
        if (count_ == 0) return;
        std::size_t index[Shape::max_rank] = {};
        std::ptrdiff_t x = offset_, y = 0;
        for (std::size_t p = 0; p < count_; ++p) {
            if (column_.x == 1) {
                for (std::size_t r = 0; r < row_.extent; ++r)
                    f(x + static_cast<std::ptrdiff_t>(r) * row_.x, y + static_cast<std::ptrdiff_t>(r) * row_.y,
                        column_.extent, std::ptrdiff_t(1));
            } else {
                for (std::size_t r0 = 0; r0 < row_.extent; r0 += tile)
                    for (std::size_t c0 = 0; c0 < column_.extent; c0 += tile)
                        for (std::size_t r = r0; r < std::min(r0 + tile, row_.extent); ++r)
                            f(x + static_cast<std::ptrdiff_t>(r) * row_.x + static_cast<std::ptrdiff_t>(c0) * column_.x,
                                y + static_cast<std::ptrdiff_t>(r) * row_.y + static_cast<std::ptrdiff_t>(c0),
                                std::min(tile, column_.extent - c0), column_.x);
            }
            for (std::size_t k = outer_rank_; k-- > 0;) {
                x += outer_[k].x;
                y += outer_[k].y;
                if (++index[k] < outer_[k].extent) break;
                x -= outer_[k].x * static_cast<std::ptrdiff_t>(outer_[k].extent);
                y -= outer_[k].y * static_cast<std::ptrdiff_t>(outer_[k].extent);
                index[k] = 0;
            }
        }
    }

private:
    static constexpr std::size_t tile = 16;
    struct Axis {
        std::size_t extent = 1;
        std::ptrdiff_t x = 0, y = 0; // steps in the viewed and in the packed array
    };
    Axis row_, column_{1, 1, 1};
    std::array<Axis, Shape::max_rank> outer_;
    std::size_t outer_rank_ = 0, count_ = 1;
    std::ptrdiff_t offset_;
};

/// y, packed, becomes the view of x.
template <class T> void gather(const View& view, const T* x, T* y) {
    Runs(view).each([&](std::ptrdiff_t i, std::ptrdiff_t j, std::size_t n, std::ptrdiff_t step) {
        if (step == 1) std::copy_n(x + i, n, y + j);
        else
            for (std::size_t k = 0; k < n; ++k)
                y[j + static_cast<std::ptrdiff_t>(k)] = x[i + static_cast<std::ptrdiff_t>(k) * step];
    });
}

/// The view of x becomes y, packed.
template <class T> void scatter(const View& view, const T* y, T* x) {
    Runs(view).each([&](std::ptrdiff_t i, std::ptrdiff_t j, std::size_t n, std::ptrdiff_t step) {
        if (step == 1) std::copy_n(y + j, n, x + i);
        else
            for (std::size_t k = 0; k < n; ++k)
                x[i + static_cast<std::ptrdiff_t>(k) * step] = y[j + static_cast<std::ptrdiff_t>(k)];
    });
}

/// x, of `size` elements, becomes the sums of the elements of y, packed, that view each: the transpose of gather, for views
/// that repeat elements too.
template <class T> void scatter_sum(const View& view, const T* y, T* x, std::size_t size) {
    Totals<T> totals(x, size);
    wide_t<T>* const sums = totals.data();
    Runs(view).each([&](std::ptrdiff_t i, std::ptrdiff_t j, std::size_t n, std::ptrdiff_t step) {
        for (std::size_t k = 0; k < n; ++k)
            sums[i + static_cast<std::ptrdiff_t>(k) * step] += y[j + static_cast<std::ptrdiff_t>(k)];
    });
    totals.store();
}

} // namespace chalkgrad
