// Arrays as text.
#include <chalkgrad/autograd/base/array.hpp>

#include <ostream>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

void format_axis(std::string& text, const std::vector<double>& numbers, const Shape& shape, std::size_t axis,
    std::size_t begin, std::size_t run, int digits) {
    if (axis == shape.rank()) {
        text += fmt::format("{:.{}g}", numbers[begin], digits);
        return;
    }
    constexpr std::size_t edge = 3, longest = 8;
    const std::size_t extent = shape[axis], step = extent == 0 ? 0 : run / extent;
    const std::string separator = axis + 1 == shape.rank() ? ", " : ",\n" + std::string(axis + 1, ' ');
    text += "[";
    for (std::size_t i = 0; i < extent; ++i) {
        if (i > 0) text += separator;
        if (extent > longest && i == edge) {
            text += "…";
            i = extent - edge - 1;
            continue;
        }
        format_axis(text, numbers, shape, axis + 1, begin + i * step, step, digits);
    }
    text += "]";
}

} // namespace

std::string to_string(const Shape& shape, const std::vector<double>& numbers, int digits) {
    std::string text;
    format_axis(text, numbers, shape, 0, 0, shape.size(), digits);
    return text;
}

detail::Printed::Printed(const Array<double>& x) : shape(x.shape()), numbers(x.begin(), x.end()) {}

} // namespace chalkgrad

std::ostream& xt::operator<<(std::ostream& out, const chalkgrad::detail::Printed& x) {
    return out << to_string(x.shape, x.numbers, x.digits);
}
