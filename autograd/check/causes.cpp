// The shapes that known mistakes leave in a Jacobian, from the most to the least specific.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <chalkgrad/autograd/check/blame.hpp>

namespace chalkgrad {
namespace {

constexpr double clear = 1e-6; // a pattern explains a gradient when nothing more than this is left of it

using Numbers = std::vector<double>;
using Rows = std::vector<Numbers>;

double largest(const Numbers& v) {
    return std::accumulate(v.begin(), v.end(), 0., [](double size, double e) { return std::max(size, std::abs(e)); });
}
double dot(const Numbers& a, const Numbers& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.); }

/// a ≈ factor · b, what is left of a, and how much of it.
struct Fit {
    double factor = 0, remainder = 1;
    Numbers rest;
};
Fit fit(const Numbers& a, const Numbers& b) {
    const double aa = dot(a, a), bb = dot(b, b);
    Fit result{bb > 0 ? dot(a, b) / bb : 0, 0, a};
    for (std::size_t i = 0; i < a.size(); ++i) result.rest[i] -= result.factor * b[i];
    if (aa > 0) result.remainder = std::sqrt(dot(result.rest, result.rest) / aa);
    return result;
}

Rows transposed(const Rows& m) {
    Rows result(m.front().size(), Numbers(m.size()));
    for (std::size_t i = 0; i < m.size(); ++i)
        for (std::size_t j = 0; j < m[i].size(); ++j) result[j][i] = m[i][j];
    return result;
}
Numbers joined(const Rows& m) {
    Numbers all;
    for (const Numbers& line : m) all.insert(all.end(), line.begin(), line.end());
    return all;
}

class CauseClassifier {
public:
    explicit CauseClassifier(const WrongJacobian& jacobian)
        : x_(jacobian.x), last_(std::max<std::size_t>(jacobian.last, 1)) {
        Numbers a = jacobian.analytic, r = jacobian.right;
        for (std::size_t i = 0; i < r.size(); ++i) {
            const double noise = jacobian.noise.empty() ? 0 : jacobian.noise[i];
            unfinite_ |= std::isfinite(r[i]) && !std::isfinite(a[i]);
            if (!std::isfinite(r[i]) || !std::isfinite(a[i])) r[i] = a[i] = 0; // masked, or overflown
            blur_ = std::max(blur_, noise / 10);
            if (std::abs(r[i] - a[i]) <= noise) r[i] = a[i];
            if (std::abs(r[i]) <= noise) r[i] = 0;
        }
        scale_ = largest(r);
        for (std::size_t row = 0; row < jacobian.rows; ++row) {
            for (Rows* m : {&a_, &r_, &d_}) m->emplace_back(jacobian.columns);
            for (std::size_t c = 0; c < jacobian.columns; ++c) {
                const auto beyond = [&](double v, double part) { return std::abs(v) <= part * scale_ ? 0 : v; };
                const std::size_t i = row * jacobian.columns + c;
                a_[row][c] = beyond(a[i], 1e-14);
                r_[row][c] = beyond(r[i], 1e-14);
                d_[row][c] = beyond(r_[row][c] - a_[row][c], 1e-13);
                lost_ += a_[row][c] == 0 && r_[row][c] != 0;
                extra_ += a_[row][c] != 0 && r_[row][c] == 0;
                wrong_ += d_[row][c] != 0;
                support_ += reached(row, c);
            }
        }
    }

    std::pair<Cause, double> find() const {
        if (unfinite_) return {Cause::not_finite, 0};
        if (wrong_ == 0) return {Cause::unknown, 0};
        const Numbers a = joined(a_), r = joined(r_), d = difference(r, a);
        if (lost_ > 0 && largest(a) == 0) return {Cause::never_written, 0};
        // By what is missing: a factor next to 1 fits anything.
        if (const Fit lost = fit(d, r);
            scale_ > 0 &&
            lost.remainder < std::min(clear + (1e-15 * scale_ + blur_) / largest(d), blur_ > 0 ? 3e-2 : 1e-3))
            return {std::abs(lost.factor - 2) < clear ? Cause::sign : Cause::factor, 1 - lost.factor};
        return {structural(), 0};
    }

private:
    static Numbers difference(Numbers r, const Numbers& a) {
        for (std::size_t i = 0; i < r.size(); ++i) r[i] -= a[i];
        return r;
    }
    bool reached(std::size_t r, std::size_t c) const { return r_[r][c] != 0 || a_[r][c] != 0; }

    Cause structural() const {
        const double gap = largest(joined(d_));
        const bool fits_x = x_.size() == a_.front().size();
        const auto along = [&](bool with_x, bool with_one) {
            return (fits_x || !with_x) && spanned([&](std::size_t, const std::vector<std::size_t>& at) {
                Rows directions;
                if (with_one) directions.emplace_back(at.size(), 1.);
                if (with_x) directions.push_back(picked(x_, at));
                return directions;
            }) > 0;
        };
        if (is_transposed()) return Cause::transposed;
        if (gap > 1e-6 * scale_ && same_numbers()) return Cause::misplaced;
        if (is_not_summed()) return Cause::not_summed;
        if (is_other_branch()) return Cause::branch;
        if (has_factors(a_, r_) || has_factors(transposed(a_), transposed(r_))) return Cause::gain;
        if (fits_x && is_wrong_where_small()) return Cause::epsilon;
        if (along(false, true)) return Cause::mean_of_cotangent;
        if (along(true, false)) return Cause::along_x;
        if (along(true, true)) return Cause::along_centred_x;
        if (fits_x && is_other_statistic()) return Cause::statistic;
        if (extra_ == wrong_) return Cause::should_be_zero;
        if (lost_ == wrong_) return Cause::zeroed; // of a rank-1 term something is left on the diagonal
        if (is_rank_one()) return Cause::rank_one;
        if (lost_ > 0 && extra_ > 0) return Cause::misplaced;
        if (extra_ > 0) return Cause::should_be_zero;
        if (lost_ > 0) return Cause::zeroed;
        if (gap < 2e-3 * scale_) return Cause::small_term;
        if (3 * wrong_ <= support_) return Cause::some_elements;
        if (is_sparse(a_, r_) || is_sparse(transposed(a_), transposed(r_))) return Cause::slopes;
        return Cause::unknown;
    }

    bool is_transposed() const {
        if (a_.size() != a_.front().size()) return false;
        const Numbers t = joined(transposed(r_));
        return fit(joined(a_), t).remainder < clear && fit(joined(r_), t).remainder > clear;
    }

    bool same_numbers() const {
        Numbers mine = joined(a_), theirs = joined(r_);
        std::sort(mine.begin(), mine.end());
        std::sort(theirs.begin(), theirs.end());
        return largest(difference(mine, theirs)) <= 1e-9 * scale_;
    }

    // The rows of some outputs are right, those of others zero, and the inputs they share get a part of the sum.
    bool is_not_summed() const {
        Numbers lost(a_.front().size(), 0), kept = lost; // by column
        for (std::size_t r = 0; r < a_.size(); ++r) {
            const bool right = largest(d_[r]) == 0;
            if (!right && largest(a_[r]) != 0) return false;
            for (std::size_t c = 0; c < lost.size(); ++c) (right ? kept : lost)[c] += r_[r][c] != 0;
        }
        return dot(lost, kept) > 0;
    }

    /// Calls f(first, last) for the columns of every row of the input; false where it has none of two elements or more.
    template <class F> bool each_row_of_x(F f) const {
        const std::size_t columns = a_.front().size();
        if (last_ < 2 || columns % last_ != 0) return false;
        for (std::size_t first = 0; first < columns; first += last_) f(first, first + last_);
        return true;
    }

    // Whole rows of x are right; where they are wrong, each element should act on itself alone: the floor holds there.
    bool is_other_branch() const {
        bool any_right = false, any_wrong = false, followed = true;
        return each_row_of_x([&](std::size_t first, std::size_t last) {
            bool wrong = false, alone = true;
            for (std::size_t r = 0; r < a_.size(); ++r) {
                std::size_t reaches = 0;
                for (std::size_t c = first; c < last; ++c) {
                    wrong = wrong || d_[r][c] != 0;
                    reaches += r_[r][c] != 0;
                }
                alone = alone && reaches <= 1;
            }
            followed = followed && (!wrong || alone);
            any_right = any_right || (!wrong && !alone);
            any_wrong = any_wrong || wrong;
        }) && followed &&
               any_right && any_wrong;
    }

    // Every line is right but for a factor of its own. Rows of a single element would say nothing.
    bool has_factors(const Rows& a, const Rows& r) const {
        std::size_t telling = 0;
        for (std::size_t l = 0; l < a.size(); ++l) {
            if (largest(a[l]) == 0 && largest(r[l]) == 0) continue;
            const Fit f = fit(a[l], r[l]);
            if (f.remainder > clear || f.factor == 0) return false;
            telling += elements(a[l], r[l]) > 1 && std::abs(f.factor - 1) > clear;
        }
        return telling > 1;
    }

    // Rows of large numbers are nearly right, the row of the smallest is not.
    bool is_wrong_where_small() const {
        struct Row {
            double size, error;
        };
        std::vector<Row> found;
        each_row_of_x([&](std::size_t first, std::size_t last) {
            const Numbers x(
                x_.begin() + static_cast<std::ptrdiff_t>(first), x_.begin() + static_cast<std::ptrdiff_t>(last));
            double wrong = 0, whole = 0;
            for (std::size_t r = 0; r < a_.size(); ++r)
                for (std::size_t c = first; c < last; ++c) {
                    wrong += d_[r][c] * d_[r][c];
                    whole += r_[r][c] * r_[r][c];
                }
            const Numbers centred = fit(x, Numbers(x.size(), 1.)).rest;
            if (whole > 0) found.push_back({std::sqrt(dot(centred, centred)), std::sqrt(wrong / whole)});
        });
        if (found.empty()) return false;
        const Row least =
            *std::min_element(found.begin(), found.end(), [](const Row& p, const Row& q) { return p.size < q.size; });
        return std::any_of(found.begin(), found.end(), [&](const Row& row) { return row.size > 10 * least.size; }) &&
               std::all_of(found.begin(), found.end(),
                   [&](const Row& row) { return row.size <= 10 * least.size || row.error < 0.01 * least.error; });
    }

    /// In how many rows what is missing lies in the span of directions(row, its columns); none where it does not in one of them. Rows
    /// of fewer than three elements would say nothing.
    template <class Directions> std::size_t spanned(Directions directions) const {
        std::size_t telling = 0;
        for (std::size_t r = 0; r < a_.size(); ++r) {
            if (largest(d_[r]) == 0) continue;
            std::vector<std::size_t> at;
            for (std::size_t c = 0; c < d_[r].size(); ++c)
                if (reached(r, c)) at.push_back(c);
            if (at.size() < 3) return 0;
            Numbers rest = picked(d_[r], at);
            Rows across = directions(r, at);
            for (std::size_t k = 0; k < across.size(); ++k) {
                for (std::size_t before = 0; before < k; ++before) across[k] = fit(across[k], across[before]).rest;
                rest = fit(rest, across[k]).rest;
            }
            if (largest(rest) > clear * largest(d_[r])) return 0;
            ++telling;
        }
        return telling;
    }

    // What is missing in each row lies in the span of the right row and of x: r is another one. So does a single element of a norm's
    // row, which is a slope of its own.
    bool is_other_statistic() const {
        for (std::size_t r = 0; r < a_.size(); ++r)
            if (const std::size_t wrong = elements(d_[r], d_[r]); wrong > 0 && (wrong == 1 || largest(a_[r]) == 0))
                return false;
        return spanned([&](std::size_t r, const std::vector<std::size_t>& at) {
            return Rows{picked(x_, at), picked(r_[r], at)};
        }) > 1;
    }

    // Outputs that depend on the same inputs miss multiples of one row.
    bool is_rank_one() const {
        std::vector<char> done(a_.size(), 0);
        std::size_t telling = 0;
        for (std::size_t r = 0; r < a_.size(); ++r) {
            std::vector<std::size_t> together;
            for (std::size_t q = r; q < a_.size(); ++q) {
                bool same = !done[q];
                for (std::size_t c = 0; same && c < d_[r].size(); ++c) same = reached(r, c) == reached(q, c);
                if (!same) continue;
                together.push_back(q);
                done[q] = 1;
            }
            if (together.size() < 2) continue; // one row is always a product
            const std::size_t longest = *std::max_element(together.begin(), together.end(),
                [&](std::size_t p, std::size_t q) { return dot(d_[p], d_[p]) < dot(d_[q], d_[q]); });
            const double norm = dot(d_[longest], d_[longest]);
            if (norm == 0) continue;
            bool varied = false; // the right rows are no multiples of each other
            for (const std::size_t q : together) {
                if (dot(d_[q], d_[q]) > 1e-20 * norm && fit(d_[q], d_[longest]).remainder > clear) return false;
                varied = varied || fit(r_[q], r_[longest]).remainder > 1e-3;
            }
            telling += varied;
        }
        return telling > 0;
    }

    static Numbers picked(const Numbers& line, const std::vector<std::size_t>& at) {
        Numbers result;
        for (const std::size_t c : at) result.push_back(line[c]);
        return result;
    }
    static std::size_t elements(const Numbers& a, const Numbers& r) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != 0 || r[i] != 0;
        return count;
    }
    static bool is_sparse(const Rows& a, const Rows& r) {
        for (std::size_t l = 0; l < a.size(); ++l)
            if (elements(a[l], r[l]) > 1) return false;
        return true;
    }

    const Numbers& x_;
    const std::size_t last_;      ///< how many numbers make a row of x
    Rows a_, r_, d_;              ///< what the backward says, what is right, what is missing
    double scale_ = 0, blur_ = 0; ///< the largest slope, and about what differences are off
    bool unfinite_ = false;
    std::size_t lost_ = 0, extra_ = 0, wrong_ = 0, support_ = 0;
};

} // namespace

std::pair<Cause, double> likely_cause(const WrongJacobian& jacobian) { return CauseClassifier(jacobian).find(); }

} // namespace chalkgrad
