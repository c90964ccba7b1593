// The wording of the checks of rows and gains.
#include <chalkgrad/ops/norm/gain.hpp>

#include <fmt/format.h>

namespace chalkgrad {

void require_rows(const char* op, const Shape& x) {
    if (x.rank() == 0)
        throw Error(fmt::format("{}: x is a single number and has no feature axis; give it shape (…, D)", op));
    if (x.last() == 0)
        throw Error(fmt::format(
            "{}: the last axis of x, shape {}, is empty; it must have at least one feature", op, to_string(x)));
}

void require_gain(const char* op, const char* name, Shapes in, std::size_t i) {
    if (!in.has(i)) return;
    const Shape& gain = in[i];
    const std::size_t d = in[0].last();
    if (gain.rank() == 0 || (gain.rank() == 1 && gain[0] == d)) return;
    throw Error(fmt::format("{}: {} has shape {} beside x of shape {}; it must be ({}) or a single number", op, name,
        to_string(gain), to_string(in[0]), d));
}

} // namespace chalkgrad
