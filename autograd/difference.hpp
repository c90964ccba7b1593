// Jacobian columns by differences: several steps, the best estimate kept, no stencil across a kink.
#pragma once

#include <optional>
#include <vector>

#include <chalkgrad/autograd/replay.hpp>

namespace chalkgrad::detail {

/// Slopes of all output elements along one input element, with estimates of their absolute errors; NaN where no difference
/// was finite.
struct Slopes {
    std::vector<double> slope, error;
};

/// One column of the Jacobian. Where the input element lies on a kink, `both_sides` has the slopes on its left and on its
/// right, and the column itself their mean.
struct Column : Slopes {
    std::optional<std::pair<Slopes, Slopes>> both_sides;
};

/// Differences of a program in U (long double, or double where an op knows no other) along elements of one leaf.
template <class U>
class Differences {
public:
    Differences(Replay<U>& program, const std::vector<std::size_t>& outputs, std::size_t leaf, std::vector<double> lengths);
    Column column(std::size_t element);

private:
    struct Values {
        std::vector<U> y;
        std::uint64_t sides;
    };
    Values at(std::size_t element, U x);
    bool central(std::size_t element, U x, U h, const Values& here, Slopes& best);
    bool one_sided(std::size_t element, U x, U signed_h, const Values& here, bool leaves_kink, Slopes& best);

    Replay<U>& program_;
    std::vector<std::size_t> outputs_;
    std::size_t leaf_;
    std::vector<std::uint32_t> lines_;
    std::vector<double> lengths_; ///< over which the program bends, largest first
};

} // namespace chalkgrad::detail
