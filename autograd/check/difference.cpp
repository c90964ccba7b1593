// Differences of order 4 that confirm a backward; of higher order, whose disagreement with the next lower one is the error estimate, where
// they do not; one-sided ones at kinks.
#include <chalkgrad/autograd/check/difference.hpp>

#include <algorithm>
#include <limits>
#include <span>

namespace chalkgrad::detail {
namespace {

template <class U> constexpr U epsilon = std::numeric_limits<U>::epsilon();

/// Steps as fractions of a length: truncation of order 6 meets rounding near the seventh root of the unit.
template <class U> constexpr double fractions[] = {2e-3, 2e-4, 2e-5};
template <> constexpr double fractions<double>[] = {2e-2, 5e-3, 5e-4};
/// Smaller ones, with fewer digits: for an edge of the domain or a kink close by, and for what bends faster than its length says.
template <class U> constexpr double fine_fractions[] = {2e-6, 2e-7, 2e-8, 2e-9};
template <> constexpr double fine_fractions<double>[] = {5e-5, 5e-6, 5e-7, 5e-8};

/// Relative error below which a column is settled.
template <class U> constexpr double settled_at = 1e-13;
template <> constexpr double settled_at<double> = 1e-10;
/// By how many steps.
template <class U> constexpr int needed = std::is_same_v<U, double> ? 2 : 1;
/// And above which a kink close by is looked for.
template <class U> constexpr double suspicious_at = 1e-10;
template <> constexpr double suspicious_at<double> = 1e-7;

/// Steps from the largest down.
template <class U> std::vector<U> steps_of(std::span<const double> fractions, const std::vector<double>& lengths) {
    std::vector<U> steps;
    for (const double fraction : fractions)
        for (const double length : lengths) steps.push_back(step_of<U>(fraction, length));
    std::sort(steps.begin(), steps.end(), std::greater<>());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    // Two that are no power of two apart are not rounded alike.
    if constexpr (std::is_same_v<U, double>)
        for (std::size_t n = 1; n < steps.size(); n += 2) steps[n] *= 0.75;
    return steps;
}

} // namespace

template <class U> void Differences<U>::at(U t, Values& values) {
    for (std::size_t k = 0; k < direction_->size(); ++k) {
        const Move& move = (*direction_)[k];
        program_.values(move.leaf)[move.element] = origin_[k] + t * static_cast<U>(move.weight);
    }
    values.y.clear();
    try {
        program_.run(*lines_);
    } catch (const std::exception&) { // the op refuses such numbers
        if (t == 0) throw;
        values.y.assign(here_.y.size(), std::numeric_limits<U>::quiet_NaN());
        values.sides = here_.sides;
        return;
    }
    for (const std::size_t output : outputs_) {
        const U* y = program_.values(output);
        values.y.insert(values.y.end(), y, y + program_.size(output));
    }
    values.sides = program_.kinks(*lines_).fingerprint();
}

/// Makes `lines` the ones that change; those of the directions before are run once more, for their leaves are back.
template <class U> void Differences<U>::go_to(const std::vector<std::uint32_t>& lines) {
    if (lines_ == &lines) return;
    if (lines_ != nullptr) program_.run(*lines_);
    lines_ = &lines;
    at(0, here_);
}

// The values at ±h, ±2h, …, ±n h, in points_ with plus before minus; step: what was really added, since x + h is rounded.
// Returns false where they cross a kink.
template <class U> template <int n> bool Differences<U>::around(U h, U (&step)[n]) {
    for (int k = 0; k < n; ++k) {
        const U t = h * U(k + 1);
        for (const int side : {0, 1}) {
            Values& point = points_[2 * k + side];
            at(side == 0 ? t : -t, point);
            if (point.sides != here_.sides) return false;
        }
        step[k] = direction_->size() == 1 ? ((origin_[0] + t) - (origin_[0] - t)) / 2 : t;
    }
    return true;
}

// Four points; false where they cross a kink, where a slope is not the backward's, or where it cannot be told.
template <class U> bool Differences<U>::as_expected(U h, const Expected& expected, Slopes& found) {
    U step[2];
    if (!around(h, step)) return false;
    for (std::size_t i = 0; i < here_.y.size(); ++i) {
        const U here = here_.y[i];
        if (!std::isfinite(here)) continue; // no slope to expect
        const U up[2] = {points_[0].y[i], points_[2].y[i]}, down[2] = {points_[1].y[i], points_[3].y[i]};
        const auto [slope, distance] = central_estimate<2>(up, down, step);
        // Beside larger slopes it is enough to be small; how well this one is known by itself is another matter.
        const U size = std::min(static_cast<U>(expected.size[i]), std::abs(slope)),
                noise = 8 * epsilon<U> * std::max(std::abs(up[1]), std::abs(down[1])) / h,
                error = short_error(distance, size) + noise;
        const U allowed = static_cast<U>(expected.tolerance * expected.size[i]);
        const bool still = slope == 0 && expected.slope[i] == 0 && up[0] == down[0];
        if (!still && !(std::abs(slope - static_cast<U>(expected.slope[i])) <= allowed && 10 * error <= allowed))
            return false;
        const auto jump = [&](int k) { return std::abs((up[k] - here) - (here - down[k])) / step[k]; };
        if (jump(0) > U(1e-6) * std::abs(slope) + 4 * noise && 2 * jump(1) < 3 * jump(0)) return false; // bent
        found.slope[i] = static_cast<double>(slope);
        found.error[i] = static_cast<double>(error);
    }
    return true;
}

// Order 2, without an estimate of its own: its truncation is taken for 1e-7.
template <class U> bool Differences<U>::two_points(U h, Slopes& found) {
    U step[1];
    if (!around(h, step)) return false;
    for (std::size_t i = 0; i < here_.y.size(); ++i) {
        const U up = points_[0].y[i], down = points_[1].y[i], slope = (up - down) / (2 * step[0]);
        const U error = U(1e-7) * std::abs(slope) + 8 * epsilon<U> * std::max(std::abs(up), std::abs(down)) / h;
        found.slope[i] = static_cast<double>(slope);
        found.error[i] = static_cast<double>(error);
    }
    return true;
}

// Truncation and rounding. A stencil that is wider than the shortest length may step over what the function does there: what
// truncation it sees is then taken for a bend over that length, of which it saw a quarter.
template <class U> U Differences<U>::error_of(U truncation, U noise, U h) const {
    const U shortest = static_cast<U>(lengths_.back());
    return (h > shortest && truncation > noise ? 4 * truncation * h / shortest : truncation) + noise;
}

// Returns false where the stencil crosses a kink.
template <class U> bool Differences<U>::central(U h, Trail<U>& trail) {
    constexpr int n = central_steps<U>;
    U step[n];
    if (!around(h, step)) return false;
    for (std::size_t i = 0; i < here_.y.size(); ++i) {
        U up[n], down[n], largest = 0;
        for (int k = 0; k < n; ++k) {
            up[k] = points_[2 * k].y[i];
            down[k] = points_[2 * k + 1].y[i];
            largest = std::max({largest, std::abs(up[k]), std::abs(down[k])});
        }
        if (moves_[i] && largest == std::abs(here_.y[i]) && std::equal(up, up + n, down)) continue;
        Estimate<U> estimate = central_estimate<n>(up, down, step);
        const U noise = 8 * epsilon<U> * largest / h;
        estimate.error = error_of(estimate.error, noise, h);
        trail.add(i, estimate, noise);
        // Right slope minus left slope: of a smooth function it grows with the step, at a kink it stays.
        const auto jump = [&](int k) { return std::abs((up[k] - here_.y[i]) - (here_.y[i] - down[k])) / step[k]; };
        bent_ = bent_ || (jump(0) > U(1e-6) * std::abs(estimate.slope) + 4 * noise && jump(2) < 2 * jump(0));
    }
    return true;
}

// From the point in one direction only, five values: order 4, with order 3 as the estimate. All lie on the side of the
// point, or, where that is on a kink (`leaves_kink`), on one side of it; else false.
template <class U> bool Differences<U>::one_sided(U signed_h, bool leaves_kink, Trail<U>& trail) {
    for (int k = 0; k < 4; ++k) {
        at(signed_h * U(k + 1), points_[k]);
        if (points_[k].sides != (leaves_kink ? points_[0].sides : here_.sides)) return false;
    }
    const U h = direction_->size() == 1 ? (origin_[0] + signed_h) - origin_[0] : signed_h;
    for (std::size_t i = 0; i < here_.y.size(); ++i) {
        const U f0 = here_.y[i], f1 = points_[0].y[i], f2 = points_[1].y[i], f3 = points_[2].y[i], f4 = points_[3].y[i];
        if (moves_[i] && f0 == f1 && f0 == f2 && f0 == f3 && f0 == f4) continue;
        const U fourth = (-25 * f0 + 48 * f1 - 36 * f2 + 16 * f3 - 3 * f4) / (12 * h);
        const U third = (-11 * f0 + 18 * f1 - 9 * f2 + 2 * f3) / (6 * h);
        const U largest = std::max({std::abs(f0), std::abs(f1), std::abs(f2), std::abs(f3), std::abs(f4)});
        const U noise = 16 * epsilon<U> * largest / std::abs(h);
        trail.add(i, {fourth, error_of(std::abs(fourth - third), noise, std::abs(h))}, noise);
    }
    return true;
}

template <class U> bool Differences<U>::settled(const Slopes& slopes, double relative) const {
    double slope = 0, error = 0;
    for (std::size_t i = 0; i < here_.y.size(); ++i) {
        if (!std::isfinite(here_.y[i])) continue;
        if (std::isnan(slopes.error[i])) return false;
        slope = std::max(slope, std::abs(slopes.slope[i]));
        error = std::max(error, slopes.error[i]);
    }
    return error <= relative * slope;
}

template <class U>
Column Differences<U>::along(const std::vector<Move>& direction, const std::vector<std::uint32_t>& lines,
    std::vector<double> lengths, const Expected* expected) {
    direction_ = &direction;
    lengths_ = std::move(lengths);
    std::sort(lengths_.begin(), lengths_.end(), std::greater<>());
    lengths_.erase(std::unique(lengths_.begin(), lengths_.end()), lengths_.end());
    origin_.clear();
    for (const Move& move : direction) origin_.push_back(program_.values(move.leaf)[move.element]);
    bent_ = false;
    go_to(lines);
    moves_.assign(here_.y.size(), 0);

    Column column{unknown_slopes(here_.y.size()), {}, true};
    const bool confirmed = expected != nullptr && std::any_of(lengths_.begin(), lengths_.end(), [&](double length) {
        // A wider stencil may step over what the function does.
        return short_fraction * length <= lengths_.back() &&
               as_expected(step_of<U>(short_fraction, length), *expected, column);
    });
    if (!confirmed) measure(column);
    for (std::size_t k = 0; k < direction.size(); ++k)
        program_.values(direction[k].leaf)[direction[k].element] = origin_[k];
    return column;
}

template <class U> void Differences<U>::measure(Column& column) {
    Trail<U> middle(here_.y.size());
    Slopes& slopes = column;
    bool found = quick_ && two_points(step_of<U>(6e-6, std::sqrt(lengths_.front() * lengths_.back())), slopes);
    if (found) return;
    const auto try_all =
        [&](auto&& stencil) { // until one that crosses no kink settles; in double a second one must bear it out
            int taken = 0;
            for (const U h : steps_of<U>(fractions<U>, lengths_)) {
                taken += stencil(h);
                found = taken > 0;
                if (taken >= needed<U> && h <= static_cast<U>(lengths_.back()) && settled(middle.best, settled_at<U>))
                    break;
            }
            slopes = middle.best;
        };
    try_all([&](U h) { return central(h, middle); });
    for (std::size_t i = 0; i < moves_.size(); ++i)
        moves_[i] = !bent_ && std::isfinite(column.slope[i]) && column.slope[i] != 0;
    if (!found) // close to a kink: look away from it
        try_all([&](U h) { return one_sided(h, false, middle) || one_sided(-h, false, middle); });
    if (!found) on_kink(column);
    else if (bent_ || !settled(column, suspicious_at<U>)) look_closer(column, middle);
}

template <class U> void Differences<U>::on_kink(Column& column) {
    Trail<U> left(here_.y.size()), right = left;
    for (const U h : steps_of<U>(fractions<U>, {lengths_.back()})) {
        one_sided(-h, true, left);
        one_sided(h, true, right);
    }
    for (std::size_t i = 0; i < here_.y.size(); ++i) {
        column.slope[i] = (left.best.slope[i] + right.best.slope[i]) / 2;
        column.error[i] = std::max(left.best.error[i], right.best.error[i]);
    }
    column.both_sides.emplace(std::move(left.best), std::move(right.best));
}

/// Below those of fractions: smaller parts of the shortest length, and parts of a moved number that is smaller than that.
template <class U> std::vector<U> Differences<U>::fine_steps() const {
    std::vector<U> steps = steps_of<U>(fine_fractions<U>, {lengths_.back()});
    double smallest = lengths_.back();
    for (std::size_t k = 0; k < origin_.size(); ++k)
        if (origin_[k] != 0)
            smallest =
                std::min(smallest, static_cast<double>(std::abs(origin_[k])) / std::abs((*direction_)[k].weight));
    if (smallest < lengths_.back())
        for (const U h : steps_of<U>(fractions<U>, {smallest})) steps.push_back(h);
    std::sort(steps.begin(), steps.end(), std::greater<>());
    return steps;
}

// Central differences did not settle, or look bent: perhaps an edge of the domain, or a kink that no op declares, lies here or close
// by. Both sides are then looked at alone, with smaller steps too.
template <class U> void Differences<U>::look_closer(Column& column, Trail<U>& middle) {
    const std::size_t n = here_.y.size();
    Trail<U> left_trail(n), right_trail(n);
    for (const U h : steps_of<U>(fractions<U>, lengths_)) {
        one_sided(-h, false, left_trail);
        one_sided(h, false, right_trail);
    }
    for (const U h : fine_steps()) {
        central(h, middle);
        one_sided(-h, false, left_trail);
        one_sided(h, false, right_trail);
    }
    const Slopes &left = left_trail.best, &right = right_trail.best;
    for (std::size_t i = 0; i < n; ++i) {
        const double slope = middle.best.slope[i], error = middle.best.error[i];
        if (std::abs(column.slope[i] - slope) > 10 * (column.error[i] + error)) column.error[i] = HUGE_VAL; // outrun
        keep_better(column, i, slope, error);
    }
    // A large step over a kink close by looks like a slope too. The smallest step has few digits, enough to tell.
    Trail<U> finest_left(n), finest_right(n);
    for (const double fraction : {4e-9, 2e-9}) {
        one_sided(-step_of<U>(fraction, lengths_.back()), false, finest_left);
        one_sided(step_of<U>(fraction, lengths_.back()), false, finest_right);
    }
    // Far in saturation everything bends within a rounding error of x: no one could tell a kink there.
    const bool believable = lengths_.front() <= 1e4 * lengths_.back();
    double steepest = 0;
    for (const double slope : column.slope)
        if (std::isfinite(slope)) steepest = std::max(steepest, std::abs(slope));
    for (std::size_t i = 0; i < n; ++i) {
        const double l = left.slope[i], r = right.slope[i], size = std::max(std::abs(l), std::abs(r)),
                     jump = std::abs(l - r);
        const double worse = std::max(left.error[i], right.error[i]);
        const double closest_l = finest_left.best.slope[i], closest_r = finest_right.best.slope[i];
        if (believable && worse <= 1e-6 * size && jump > 1e-5 * size + 20 * worse + 1e-9 * steepest) {
            if (std::abs(closest_l - closest_r) > 0.5 * jump) {
                column.declared = false;
                column.slope[i] = (l + r) / 2;
                column.error[i] = worse;
                continue;
            }
            // Near, not here: one of the sides is this one's.
            const bool is_left = std::abs(l - closest_l) < std::abs(r - closest_r);
            column.slope[i] = is_left ? l : r;
            column.error[i] = is_left ? left.error[i] : right.error[i];
            continue;
        }
        for (const Slopes* side :
            {&left, &right}) { // one without two digits is known as far as it agrees with the other
            const double slope = side->slope[i], apart = std::abs(slope - column.slope[i]);
            const bool rough = side->error[i] > std::max(std::abs(slope), std::abs(column.slope[i])) / 100;
            keep_better(column, i, slope, rough ? std::max(apart, side->error[i]) : side->error[i]);
        }
    }
    if (!column.declared) column.both_sides.emplace(left, right);
}

template class Differences<double>;
template class Differences<long double>;

} // namespace chalkgrad::detail
