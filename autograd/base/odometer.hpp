// Walks the indices of some axes in order, and with them a place in each of several arrays.
#pragma once // internal

#include <array>
#include <cstddef>

#include <chalkgrad/autograd/base/shape.hpp>

namespace chalkgrad {

/// Axes, the fastest first, and how far a step along each of them moves in `arrays` arrays.
template <std::size_t arrays> class Odometer {
public:
    using Places = std::array<std::ptrdiff_t, arrays>;

    void add(std::size_t extent, const Places& steps) {
        axes_[rank_++] = {extent, steps};
        count_ *= extent;
    }
    /// Calls f(places) for every index.
    template <class F> void each(F&& f) const {
        std::size_t index[Shape::max_rank] = {};
        Places at{};
        for (std::size_t i = 0; i < count_; ++i) {
            f(static_cast<const Places&>(at));
            for (std::size_t k = 0; k < rank_; ++k) {
                const auto& [extent, steps] = axes_[k];
                const bool wraps = ++index[k] == extent;
                const std::ptrdiff_t factor = wraps ? 1 - static_cast<std::ptrdiff_t>(extent) : 1;
                for (std::size_t a = 0; a < arrays; ++a) at[a] += factor * steps[a];
                if (!wraps) break;
                index[k] = 0;
            }
        }
    }

private:
    struct Axis {
        std::size_t extent;
        Places steps;
    };
    std::array<Axis, Shape::max_rank> axes_;
    std::size_t rank_ = 0, count_ = 1;
};

} // namespace chalkgrad
