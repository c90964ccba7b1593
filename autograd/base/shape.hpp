// Shape: the extents of an array, a small value type with its element count.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <chalkgrad/autograd/base/error.hpp>

namespace chalkgrad {

/// Extents, slowest axis first; rank 0 is a single number. At most 8 axes. Throws Error when there are more, or when the
/// number of elements does not fit in 63 bits.
class Shape {
public:
    static constexpr std::size_t max_rank = 8;

    Shape() = default;
    Shape(std::initializer_list<std::size_t> extents) : Shape(extents.begin(), extents.end()) {}
    template <std::input_iterator Iterator> Shape(Iterator first, Iterator last) {
        for (; first != last; ++first) push_back(static_cast<std::size_t>(*first));
    }
    /// Of a list of extents: what `shape()` of an array gives, a std::vector.
    template <class Extents>
    requires std::integral<typename Extents::value_type>
    explicit Shape(const Extents& extents) : Shape(extents.begin(), extents.end()) {}

    std::size_t rank() const { return rank_; }
    /// Number of elements: the product of the extents, 1 for rank 0.
    std::size_t size() const { return size_; }
    std::size_t operator[](std::size_t axis) const { return extents_[axis]; }
    const std::size_t* begin() const { return extents_.data(); }
    const std::size_t* end() const { return extents_.data() + rank_; }
    /// Extent of the last axis, the features of a token; 1 for rank 0.
    std::size_t last() const { return rank_ == 0 ? 1 : extents_[rank_ - 1]; }
    /// Number of rows when the last axis is the row: size() / last(), and 0 where the last axis is empty.
    std::size_t rows() const { return last() == 0 ? 0 : size_ / last(); }

    void push_back(std::size_t extent);
    /// The same shape with axis `axis` replaced.
    Shape with(std::size_t axis, std::size_t extent) const;

    friend bool operator==(const Shape& a, const Shape& b) {
        if (a.rank_ != b.rank_) return false;
        for (std::size_t i = 0; i < a.rank_; ++i) // no std::equal: a call of memcmp for each line of a tape
            if (a.extents_[i] != b.extents_[i]) return false;
        return true;
    }

private:
    std::array<std::size_t, max_rank> extents_{};
    std::size_t size_ = 1;
    std::uint8_t rank_ = 0;
};

/// "(3, 5)", "(5)", "()".
std::string to_string(const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// The shape of a broadcast operation by NumPy's rules. Throws Error naming `op` and both shapes.
Shape broadcast(const char* op, const Shape& a, const Shape& b);

/// An axis counted from either end (−1 is the last) as an index below `rank`. Throws Error naming `op`.
std::size_t normalize_axis(const char* op, std::ptrdiff_t axis, const Shape& shape);

/// The multi-index of an element by its place in row-major order, for a Shape or any list of extents.
template <class Extents> std::vector<std::size_t> multi_index(std::size_t flat, const Extents& extents) {
    std::vector<std::size_t> index(extents.begin(), extents.end());
    for (std::size_t k = index.size(); k-- > 0;) flat /= std::exchange(index[k], flat % index[k]);
    return index;
}

} // namespace chalkgrad
