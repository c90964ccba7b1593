// Estimates of slopes by differences, and which of them are believed.
#pragma once // internal

#include <cstddef>
#include <vector>

namespace chalkgrad::detail {

template <class U> struct Estimate { U slope, error; };

/// Slopes of all output elements along one direction, with estimates of their absolute errors; NaN where no difference was
/// finite.
struct Slopes {
    std::vector<double> slope, error;
};

/// `n` of them, all NaN.
Slopes unknown_slopes(std::size_t n);
/// Takes a slope for output element i if it is known better than the best so far.
void keep_better(Slopes& best, std::size_t i, double slope, double error);

/// Estimates from ever smaller steps. Each is believed as far as the one from the next step agrees: steps that leave the domain, or
/// outrun the function, give estimates that look good by chance, but no two of the same value.
template <class U> class Trail {
public:
    explicit Trail(std::size_t outputs);
    /// `noise`: what rounding alone may make of this slope.
    void add(std::size_t i, Estimate<U> estimate, U noise);

    Slopes best;

private:
    std::vector<Estimate<U>> last_;
    std::vector<U> last_noise_;
};

} // namespace chalkgrad::detail
