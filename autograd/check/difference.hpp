// Slopes of a program by differences: several steps, the best estimate kept, no stencil across a kink.
#pragma once // internal

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include <chalkgrad/autograd/check/trail.hpp>
#include <chalkgrad/autograd/tape/replay.hpp>

namespace chalkgrad::detail {

/// The weights of central slopes over one, two, …, n steps in a slope of order 2n.
template <class U, int n>
inline constexpr std::array<U, n> central_weights = [] {
    std::array<U, n> weights{U(2 * n) / U(n + 1)};
    for (int k = 1; k < n; ++k) weights[k] = -weights[k - 1] * U(n - k) / U(n + k + 1);
    return weights;
}();

/// f′ of order 2n from the values one, two, …, n steps up and down; its distance to order 2n − 2 is the error. step[k] is half the way
/// between up[k] and down[k].
template <int n, class U> Estimate<U> central_estimate(const U* up, const U* down, const U* step) {
    U best = 0, lower = 0;
    for (int k = 0; k < n; ++k) {
        const U slope = (up[k] - down[k]) / (2 * step[k]);
        best += central_weights<U, n>[k] * slope;
        if (k < n - 1) lower += central_weights<U, n - 1>[k] * slope;
    }
    return {best, std::abs(best - lower)};
}

/// How many steps up and down a central slope takes. In double, order 10 reaches further, where rounding weighs less.
template <class U> inline constexpr int central_steps = 3;
template <> inline constexpr int central_steps<double> = 5;

/// A power of two near fraction · length: x + h then keeps all digits of both.
template <class U> U step_of(double fraction, double length) {
    return static_cast<U>(std::exp2(std::round(std::log2(fraction * length))));
}

/// The step of the stencil that only confirms, as a fraction of a length: order 4 and rounding both leave a dozen digits there.
inline constexpr double short_fraction = 6e-5;
/// How far order 4 is off, from its distance to order 2 and the `size` of slopes: relative to that size about the square of it; a hundred
/// times that is allowed for. That is a guess: it holds where the slope is also what was expected.
template <class U> U short_error(U distance, U size) { return distance * std::min(U(1), 100 * distance / size); }

/// The slopes along one direction. Where the point lies on a kink, `both_sides` has the slopes on its left and on its right, and
/// the column itself their mean.
struct Column : Slopes {
    std::optional<std::pair<Slopes, Slopes>> both_sides;
    bool declared = true; ///< the kink is one that an op names; else it was seen in the differences
};

/// What the backward says the slopes are, by output element, and the size of slopes that are judged with each. A short stencil
/// that agrees settles a column; one that does not, or cannot tell, is followed by others.
struct Expected {
    std::vector<double> slope, size;
    double tolerance = 0; ///< as a fraction of the size
};

/// How much of a slope dy/dx may be lost to rounding inside ops, of relative size epsilon: numbers of the size of x / length are
/// rounded there, so a softmax of large logits has no more digits than that leaves; and what it weighs is as large as y.
inline double rounding_loss(double epsilon, double y, double x, double length) {
    const double ratio = x / length;
    return epsilon * (1000 * std::max({1.0, y, ratio}) + 30 * y * ratio) / length;
}

/// A part of a direction: how fast one element of a leaf moves.
struct Move {
    std::size_t leaf, element;
    double weight = 1;
};

/// Differences of a program in U: long double, or double where an op knows no other.
template <class U> class Differences {
public:
    /// `quick`: two points and no more where no kink is near, as other checkers do.
    Differences(Replay<U>& program, std::vector<std::size_t> outputs, bool quick = false)
        : program_(program), outputs_(std::move(outputs)), quick_(quick) {}

    /// The slopes of all outputs at the program's point. `lines` are the lines that depend on the direction's leaves, one list for
    /// each; steps are fractions of `lengths`. Leaves are left as they were; lines between are not run again before they matter.
    Column along(const std::vector<Move>& direction, const std::vector<std::uint32_t>& lines,
        std::vector<double> lengths, const Expected* expected = nullptr);

private:
    struct Values {
        std::vector<U> y;
        std::uint64_t sides = 0;
    };
    void at(U t, Values& values);
    template <int n> bool around(U h, U (&step)[n]);
    void go_to(const std::vector<std::uint32_t>& lines);
    void measure(Column& column);
    bool as_expected(U h, const Expected& expected, Slopes& found);
    bool two_points(U h, Slopes& found);
    U error_of(U truncation, U noise, U h) const;
    bool central(U h, Trail<U>& trail);
    bool one_sided(U signed_h, bool leaves_kink, Trail<U>& trail);
    bool settled(const Slopes& slopes, double relative) const;
    std::vector<U> fine_steps() const;
    void on_kink(Column& column);
    void look_closer(Column& column, Trail<U>& middle);

    Replay<U>& program_;
    const std::vector<std::size_t> outputs_;
    const bool quick_;
    const std::vector<Move>* direction_ = nullptr;
    const std::vector<std::uint32_t>* lines_ = nullptr;
    std::vector<double> lengths_;                ///< largest first
    std::vector<U> origin_;                      ///< what the moved elements are at the point
    Values here_, points_[2 * central_steps<U>]; ///< here_ holds for all directions with the same lines
    std::vector<char>
        moves_;         ///< by output: large steps see a slope, and no kink; small ones that see none are too small
    bool bent_ = false; ///< a second difference did not shrink with the step: a kink that no op declares
};

} // namespace chalkgrad::detail
