// How a broadcast is cut into rows: neighbouring axes that both operands run through alike become one.
#include <chalkgrad/ops/elementwise/broadcast.hpp>

namespace chalkgrad {

BroadcastRows::BroadcastRows(const Shape& a, const Shape& b, const Shape& y) {
    struct Axis {
        std::size_t extent;
        bool in_a, in_b; // whether the operand moves along it
    };
    Axis axes[Shape::max_rank];
    std::size_t count = 0;
    for (std::size_t i = 0; i < y.rank(); ++i) {
        if (y[i] == 1) continue;
        const auto moves = [&](const Shape& x) { return i + x.rank() >= y.rank() && x[i + x.rank() - y.rank()] != 1; };
        const Axis axis{y[i], moves(a), moves(b)};
        if (count > 0 && axes[count - 1].in_a == axis.in_a && axes[count - 1].in_b == axis.in_b)
            axes[count - 1].extent *= axis.extent;
        else axes[count++] = axis;
    }
    if (count > 0) {
        const Axis& last = axes[--count];
        inner_ = last.extent;
        a_step_ = last.in_a;
        b_step_ = last.in_b;
    }
    const auto inner = static_cast<std::ptrdiff_t>(inner_);
    std::ptrdiff_t run[] = {a_step_ ? inner : 1, b_step_ ? inner : 1, inner};
    while (count-- > 0) {
        const Axis& axis = axes[count];
        const auto extent = static_cast<std::ptrdiff_t>(axis.extent);
        outer_.add(axis.extent, {axis.in_a ? run[0] : 0, axis.in_b ? run[1] : 0, run[2]});
        if (axis.in_a) run[0] *= extent;
        if (axis.in_b) run[1] *= extent;
        run[2] *= extent;
    }
}

} // namespace chalkgrad
