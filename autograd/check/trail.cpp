// Estimates of slopes by differences: the best of several steps.
#include <chalkgrad/autograd/check/trail.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace chalkgrad::detail {

Slopes unknown_slopes(std::size_t n) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {std::vector<double>(n, nan), std::vector<double>(n, nan)};
}

void keep_better(Slopes& best, std::size_t i, double slope, double error) {
    if (!std::isfinite(slope) || error >= best.error[i]) return;
    best.slope[i] = slope;
    best.error[i] = error;
}

template <class U>
Trail<U>::Trail(std::size_t outputs)
    : best(unknown_slopes(outputs)),
      last_(outputs, {std::numeric_limits<U>::quiet_NaN(), U(0)}),
      last_noise_(outputs, U(0)) {}

template <class U> void Trail<U>::add(std::size_t i, Estimate<U> estimate, U noise) {
    if (!std::isfinite(estimate.slope)) return;
    Estimate<U>& last = last_[i];
    const U apart = std::abs(last.slope - estimate.slope);
    const auto believe = [&](U slope, U error) { // at least two digits of it, or as many as rounding leaves
        if (error <= std::max(std::abs(slope) / 100, 10 * noise))
            keep_better(best, i, static_cast<double>(slope), static_cast<double>(error));
    };
    if (std::abs(static_cast<U>(best.slope[i]) - estimate.slope) > 10 * static_cast<U>(best.error[i]) + 1000 * noise)
        best.slope[i] = best.error[i] = std::numeric_limits<double>::quiet_NaN(); // what smaller steps do not bear out
    // Rounding that the smaller step shows is there at the larger one too, where it weighs less.
    believe(last.slope,
        std::max({last.error, apart - noise, noise > 0 ? estimate.error * (last_noise_[i] / noise) : U(0)}));
    believe(estimate.slope, std::max(estimate.error, apart));
    last = estimate;
    last_noise_[i] = noise;
}

template class Trail<double>;
template class Trail<long double>;

} // namespace chalkgrad::detail
