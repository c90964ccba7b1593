// Seven-point differences of order 6, whose disagreement with order 4 is the error estimate; one-sided ones at kinks.
#include <chalkgrad/autograd/difference.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace chalkgrad::detail {
namespace {

template <class U>
constexpr U epsilon = std::numeric_limits<U>::epsilon();

/// Steps as fractions of a length: truncation of order 6 meets rounding near the seventh root of the unit.
template <class U>
constexpr double fractions[] = {2e-3, 2e-4, 2e-5};
template <>
constexpr double fractions<double>[] = {2e-2, 5e-3, 5e-4};

} // namespace

template <class U>
Differences<U>::Differences(Replay<U>& program, const std::vector<std::size_t>& outputs, std::size_t leaf, std::vector<double> lengths)
    : program_(program), outputs_(outputs), leaf_(leaf), lines_(program.dependents(leaf)), lengths_(std::move(lengths)) {
    std::sort(lengths_.begin(), lengths_.end(), std::greater<>());
    lengths_.erase(std::unique(lengths_.begin(), lengths_.end()), lengths_.end());
}

template <class U>
typename Differences<U>::Values Differences<U>::at(std::size_t element, U x) {
    program_.values(leaf_)[element] = x;
    program_.run(lines_);
    Values values;
    for (const std::size_t output : outputs_) {
        const U* y = program_.values(output);
        values.y.insert(values.y.end(), y, y + program_.size(output));
    }
    values.sides = program_.sides(lines_).fingerprint();
    return values;
}

// f′ ≈ [45 (f₁ − f₋₁) − 9 (f₂ − f₋₂) + (f₃ − f₋₃)] / 60h, order 6; [8 (f₁ − f₋₁) − (f₂ − f₋₂)] / 12h, order 4.
// Returns false where the stencil crosses a kink.
template <class U>
bool Differences<U>::central(std::size_t element, U x, U h, const Values& here, Slopes& best) {
    Values v[6];
    U step[3]; // what was really added: x + h is rounded
    for (int k = 0; k < 3; ++k) {
        const U up = x + h * U(k + 1), down = x - h * U(k + 1);
        step[k] = (up - down) / 2;
        v[2 * k] = at(element, up);
        v[2 * k + 1] = at(element, down);
        if (v[2 * k].sides != here.sides || v[2 * k + 1].sides != here.sides) return false;
    }
    for (std::size_t i = 0; i < here.y.size(); ++i) {
        U d[3], largest = 0;
        for (int k = 0; k < 3; ++k) {
            const U up = v[2 * k].y[i], down = v[2 * k + 1].y[i];
            d[k] = (up - down) / (2 * step[k]);
            largest = std::max({largest, std::abs(up), std::abs(down)});
        }
        const U sixth = (15 * d[0] - 6 * d[1] + d[2]) / 10, fourth = (4 * d[0] - d[1]) / 3;
        if (!std::isfinite(sixth)) continue;
        const double error = static_cast<double>(std::abs(sixth - fourth) + 8 * epsilon<U> * largest / h);
        if (!(error >= best.error[i])) {
            best.slope[i] = static_cast<double>(sixth);
            best.error[i] = error;
        }
    }
    return true;
}

// From x in one direction only, five points: order 4, with order 3 as the estimate. All points lie on the side of x, or, where x
// is on a kink (`leaves_kink`), on one side of it; else false.
template <class U>
bool Differences<U>::one_sided(std::size_t element, U x, U signed_h, const Values& here, bool leaves_kink, Slopes& best) {
    Values v[4];
    for (int k = 0; k < 4; ++k) {
        v[k] = at(element, x + signed_h * U(k + 1));
        if (v[k].sides != (leaves_kink ? v[0].sides : here.sides)) return false;
    }
    const U h = (x + signed_h) - x; // what was really added
    for (std::size_t i = 0; i < here.y.size(); ++i) {
        const U f0 = here.y[i], f1 = v[0].y[i], f2 = v[1].y[i], f3 = v[2].y[i], f4 = v[3].y[i];
        const U fourth = (-25 * f0 + 48 * f1 - 36 * f2 + 16 * f3 - 3 * f4) / (12 * h);
        const U third = (-11 * f0 + 18 * f1 - 9 * f2 + 2 * f3) / (6 * h);
        if (!std::isfinite(fourth)) continue;
        const U largest = std::max({std::abs(f0), std::abs(f1), std::abs(f2), std::abs(f3), std::abs(f4)});
        const double error = static_cast<double>(std::abs(fourth - third) + 16 * epsilon<U> * largest / std::abs(h));
        if (!(error >= best.error[i])) {
            best.slope[i] = static_cast<double>(fourth);
            best.error[i] = error;
        }
    }
    return true;
}

template <class U>
Column Differences<U>::column(std::size_t element) {
    const U x = program_.values(leaf_)[element];
    const Values here = at(element, x);
    const std::size_t n = here.y.size();
    const Slopes unknown{std::vector<double>(n, std::numeric_limits<double>::quiet_NaN()),
                         std::vector<double>(n, std::numeric_limits<double>::quiet_NaN())};
    Column column{unknown, {}};
    const auto settled = [&] {
        double slope = 0, error = 0;
        for (std::size_t i = 0; i < n; ++i) {
            if (std::isnan(column.error[i])) return false;
            slope = std::max(slope, std::abs(column.slope[i]));
            error = std::max(error, column.error[i]);
        }
        return error <= 1e-13 * slope;
    };
    bool found = false; // a stencil that crosses no kink
    const auto try_all = [&](auto&& stencil) {
        for (const double fraction : fractions<U>)
            for (const double length : lengths_) {
                found |= stencil(U(fraction * length));
                if (found && settled()) return;
            }
    };
    try_all([&](U h) { return central(element, x, h, here, column); });
    if (!found) // close to a kink: look away from it
        try_all([&](U h) {
            return one_sided(element, x, h, here, false, column) || one_sided(element, x, -h, here, false, column);
        });
    if (!found) { // on it
        Slopes left = unknown, right = unknown;
        for (const double fraction : fractions<U>) {
            one_sided(element, x, U(-fraction * lengths_.back()), here, true, left);
            one_sided(element, x, U(fraction * lengths_.back()), here, true, right);
        }
        for (std::size_t i = 0; i < n; ++i) {
            column.slope[i] = (left.slope[i] + right.slope[i]) / 2;
            column.error[i] = std::max(left.error[i], right.error[i]);
        }
        column.both_sides.emplace(std::move(left), std::move(right));
    }
    program_.values(leaf_)[element] = x;
    program_.run(lines_);
    return column;
}

template class Differences<double>;
template class Differences<long double>;

} // namespace chalkgrad::detail
