// Shape arithmetic: element counts with overflow refused, broadcasting, axes.
#include <chalkgrad/autograd/base/shape.hpp>

#include <ostream>

namespace chalkgrad {

void Shape::push_back(std::size_t extent) {
    if (rank_ == max_rank) throw Error("shape: more than 8 axes; reshape the array to fewer");
    if (const auto given = static_cast<std::ptrdiff_t>(extent); given < 0)
        throw Error("shape: the extent " + std::to_string(given) + " is negative");
    std::size_t size = 0;
    if (__builtin_mul_overflow(size_, extent, &size) || size > (std::size_t(1) << 62))
        throw Error("shape: the number of elements of " + to_string(*this) + " × " + std::to_string(extent) +
                    " does not fit in 62 bits");
    extents_[rank_++] = extent;
    size_ = size;
}

Shape Shape::with(std::size_t axis, std::size_t extent) const {
    Shape result;
    for (std::size_t i = 0; i < rank_; ++i) result.push_back(i == axis ? extent : extents_[i]);
    return result;
}

std::string to_string(const Shape& shape) {
    std::string text = "(";
    for (const std::size_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + ")";
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }

Shape broadcast(const char* op, const Shape& a, const Shape& b) {
    if (a == b) return a;
    const std::size_t rank = a.rank() > b.rank() ? a.rank() : b.rank();
    Shape result;
    for (std::size_t i = 0; i < rank; ++i) {
        const std::size_t m = i + a.rank() < rank ? 1 : a[i + a.rank() - rank];
        const std::size_t n = i + b.rank() < rank ? 1 : b[i + b.rank() - rank];
        if (m != n && m != 1 && n != 1)
            throw Error(std::string(op) + ": shapes " + to_string(a) + " and " + to_string(b) +
                        " do not broadcast: counted from the last axis, extents must be equal or 1; reshape or "
                        "transpose one of them");
        result.push_back(m == 1 ? n : m);
    }
    return result;
}

std::size_t normalize_axis(const char* op, std::ptrdiff_t axis, const Shape& shape) {
    const auto rank = static_cast<std::ptrdiff_t>(shape.rank());
    if (rank == 0)
        throw Error(std::string(op) + ": axis " + std::to_string(axis) +
                    " of a single number, shape (), which has no axes; reshape it to (1) first");
    if (axis < -rank || axis >= rank)
        throw Error(std::string(op) + ": axis " + std::to_string(axis) + " of an array of shape " + to_string(shape) +
                    ": give one from " + std::to_string(-rank) + " to " + std::to_string(rank - 1));
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

} // namespace chalkgrad
