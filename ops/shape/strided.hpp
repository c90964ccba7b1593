// Strided views of arrays: what transposing, slicing, joining and repeating have in common.
#pragma once // internal

#include <algorithm>
#include <array>
#include <cstddef>

#include <chalkgrad/autograd/base/odometer.hpp>
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
        outer_.each([&](const Odometer<2>::Places& at) {
            const std::ptrdiff_t x = offset_ + at[0], y = at[1];
            const std::size_t tile_rows = column_.x == 1 ? row_.extent : tile,
                              tile_columns = column_.x == 1 ? column_.extent : tile;
            for (std::size_t r0 = 0; r0 < row_.extent; r0 += tile_rows)
                for (std::size_t c0 = 0; c0 < column_.extent; c0 += tile_columns)
                    for (std::size_t r = r0; r < std::min(r0 + tile_rows, row_.extent); ++r) {
                        const auto row = static_cast<std::ptrdiff_t>(r), column = static_cast<std::ptrdiff_t>(c0);
                        f(x + row * row_.x + column * column_.x, y + row * row_.y + column,
                            std::min(tile_columns, column_.extent - c0), column_.x);
                    }
        });
    }

private:
    static constexpr std::size_t tile = 16;
    struct Axis {
        std::size_t extent = 1;
        std::ptrdiff_t x = 0, y = 0; // steps in the viewed and in the packed array
    };
    Axis row_, column_{1, 1, 1};
    Odometer<2> outer_;
    std::ptrdiff_t offset_;
};

/// n numbers from one place to another, by steps.
template <class T>
void copy_steps(std::size_t n, const T* from, std::ptrdiff_t from_step, T* to, std::ptrdiff_t to_step) {
    if (from_step == 1 && to_step == 1) std::copy_n(from, n, to);
    else
        for (; n > 0; --n, from += from_step, to += to_step) *to = *from;
}

/// y, packed, becomes the view of x.
template <class T> void gather(const View& view, const T* x, T* y) {
    Runs(view).each([&](std::ptrdiff_t i, std::ptrdiff_t j, std::size_t n, std::ptrdiff_t step) {
        copy_steps<T>(n, x + i, step, y + j, 1);
    });
}

/// The view of x becomes y, packed.
template <class T> void scatter(const View& view, const T* y, T* x) {
    Runs(view).each([&](std::ptrdiff_t i, std::ptrdiff_t j, std::size_t n, std::ptrdiff_t step) {
        copy_steps<T>(n, y + j, 1, x + i, step);
    });
}

/// x, of `size` elements, becomes the sums of the elements of y, packed, that view each: the transpose of gather, for views
/// that repeat elements too.
template <class T> void scatter_sum(const View& view, const T* y, T* x, std::size_t size) {
    Totals<T> totals(x, size);
    Runs(view).each([&](std::ptrdiff_t i, std::ptrdiff_t j, std::size_t n, std::ptrdiff_t step) {
        wide_t<T>* sum = totals.data() + i;
        for (const T* part = y + j; n > 0; --n, sum += step, ++part) *sum += *part;
    });
    totals.store();
}

} // namespace chalkgrad
