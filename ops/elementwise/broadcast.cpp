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
    std::size_t a_run = a_step_ ? inner_ : 1, b_run = b_step_ ? inner_ : 1;
    outer_rank_ = count;
    for (std::size_t k = count; k-- > 0;) {
        outer_[k] = axes[k].extent;
        outer_size_ *= axes[k].extent;
        a_stride_[k] = axes[k].in_a ? a_run : 0;
        b_stride_[k] = axes[k].in_b ? b_run : 0;
        if (axes[k].in_a) a_run *= axes[k].extent;
        if (axes[k].in_b) b_run *= axes[k].extent;
    }
}

} // namespace chalkgrad
