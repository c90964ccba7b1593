// Is an array what it should be, element by element, and where is it furthest from that?
#include <chalkgrad/experiments/report/compare.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/shape.hpp>

namespace chalkgrad {

double ulp(double value, Dtype dtype) {
    int digits = 0, least_exponent = 0;
    if (dtype == Dtype::f64) digits = 52, least_exponent = -1022;
    else if (dtype == Dtype::f32) digits = 23, least_exponent = -126;
    else if (dtype == Dtype::f16) digits = 10, least_exponent = -14;
    else if (dtype == Dtype::bf16) digits = 7, least_exponent = -126;
    else throw Error(fmt::format("compare: knows no ulp of {}; choose double, float, half or bfloat16", name(dtype)));
    const int exponent = value == 0 ? least_exponent : std::max(std::ilogb(value), least_exponent);
    return std::ldexp(1.0, exponent - digits);
}

Comparison compare(const Array<double>& got, const Array<double>& want, const Allowance& allowance) {
    const Shape shape(want.shape()), other(got.shape());
    Comparison result;
    if (!(shape == other)) {
        result.holds = false;
        result.shapes = fmt::format("got shape {}, want {}", to_string(other), to_string(shape));
        return result;
    }
    result.size = want.size();
    double largest_want = 0, largest_distance = 0, worst = -1;
    std::size_t at = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const double g = got.data()[i], w = want.data()[i];
        double distance = 0, share = 0; // of what is allowed
        if (std::isfinite(g) && std::isfinite(w)) {
            distance = std::abs(g - w);
            const double allowed = allowance.absolute + allowance.relative * std::abs(w) +
                                   (allowance.ulps > 0 ? allowance.ulps * ulp(w, allowance.storage) : 0);
            share = distance == 0         ? 0
                    : distance <= allowed ? distance / allowed
                                          : std::max(distance / allowed, 1 + 1e-15);
        } else if (!(g == w || (std::isnan(g) && std::isnan(w)))) {
            distance = share = std::numeric_limits<double>::infinity();
        }
        if (std::isfinite(w)) largest_want = std::max(largest_want, std::abs(w));
        largest_distance = std::max(largest_distance, distance);
        if (share > 1) ++result.beyond;
        if (share > worst) worst = share, at = i;
    }
    result.holds = result.beyond == 0;
    result.error = largest_want > 0 ? largest_distance / largest_want : largest_distance;
    if (result.size > 0) {
        result.index = multi_index(at, shape);
        result.got = got.data()[at];
        result.want = want.data()[at];
    }
    return result;
}

std::string to_string(const Comparison& c) {
    if (!c.shapes.empty()) return c.shapes;
    if (c.size == 0) return "no numbers";
    const double distance = c.got == c.want || (std::isnan(c.got) && std::isnan(c.want)) ? 0 : std::abs(c.got - c.want);
    const double relative = distance == 0 ? 0 : distance / std::abs(c.want);
    std::string text = fmt::format(
        "at [{}]: got {:.17g}, want {:.17g}, relative error {:.3g}", fmt::join(c.index, ", "), c.got, c.want, relative);
    if (c.beyond > 0) text += fmt::format(" ({} of {} numbers beyond the tolerance)", c.beyond, c.size);
    return text;
}

} // namespace chalkgrad
