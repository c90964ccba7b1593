// How a view is cut: axes that lie behind each other in both arrays become one, and tiles take the axis with the smallest step.
#include <chalkgrad/ops/shape/strided.hpp>

#include <cstdlib>

namespace chalkgrad {

View View::of(const Shape& shape) {
    View view{shape};
    std::ptrdiff_t step = 1;
    for (std::size_t i = shape.rank(); i-- > 0;) {
        view.strides[i] = step;
        step *= static_cast<std::ptrdiff_t>(shape[i]);
    }
    return view;
}

View View::broadcast(const Shape& from, const Shape& to) {
    const View whole = of(from);
    View view{to};
    for (std::size_t i = 0; i < from.rank(); ++i)
        view.strides[i + to.rank() - from.rank()] = from[i] == 1 ? 0 : whole.strides[i];
    return view;
}

Runs::Runs(const View& view) : offset_(view.offset) {
    Axis axes[Shape::max_rank];
    std::size_t count = 0;
    std::ptrdiff_t packed = static_cast<std::ptrdiff_t>(view.extents.size());
    for (std::size_t i = 0; i < view.extents.rank(); ++i) {
        const std::size_t extent = view.extents[i];
        if (extent == 0) {
            outer_.add(0, {});
            return;
        }
        packed /= static_cast<std::ptrdiff_t>(extent);
        if (extent == 1) continue;
        const std::ptrdiff_t step = view.strides[i];
        if (count > 0 && axes[count - 1].x == step * static_cast<std::ptrdiff_t>(extent))
            axes[count - 1] = {axes[count - 1].extent * extent, step, packed};
        else axes[count++] = {extent, step, packed};
    }
    if (count > 0) column_ = axes[--count];
    if (count > 0) {
        std::size_t row = count - 1;
        for (std::size_t i = 0; i < count; ++i)
            if (column_.x != 1 && std::abs(axes[i].x) < std::abs(axes[row].x)) row = i;
        row_ = axes[row];
        std::copy(axes + row + 1, axes + count, axes + row);
        --count;
    }
    while (count-- > 0) outer_.add(axes[count].extent, {axes[count].x, axes[count].y});
}

} // namespace chalkgrad
