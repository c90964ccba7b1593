// The shapes that known mistakes leave in a Jacobian, from the most to the least specific.
#include <algorithm>
#include <cmath>
#include <tuple>

#include <chalkgrad/autograd/check/blame.hpp>

namespace chalkgrad {
namespace {

constexpr double clear = 1e-6; // a pattern explains a gradient when nothing more than this is left of it

/// a ≈ factor · b, and |a − factor b| / |a|.
struct Fit {
    double factor = 0, remainder = 1;
};
Fit fit(const std::vector<double>& a, const std::vector<double>& b) {
    double ab = 0, bb = 0, aa = 0, rest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += a[i] * b[i];
        bb += b[i] * b[i];
        aa += a[i] * a[i];
    }
    const double factor = bb > 0 ? ab / bb : 0;
    for (std::size_t i = 0; i < a.size(); ++i) rest += (a[i] - factor * b[i]) * (a[i] - factor * b[i]);
    return {factor, aa > 0 ? std::sqrt(rest / aa) : 0};
}

class CauseClassifier {
public:
    explicit CauseClassifier(const WrongJacobian& jacobian)
        : rows_(jacobian.rows),
          columns_(jacobian.columns),
          x_(jacobian.x),
          last_(std::max<std::size_t>(jacobian.last, 1)),
          a_(jacobian.analytic),
          r_(jacobian.right),
          d_(jacobian.right.size()) {
        for (std::size_t i = 0; i < r_.size(); ++i) {
            unfinite_ |= std::isfinite(r_[i]) && !std::isfinite(a_[i]);
            if (!std::isfinite(r_[i]) || !std::isfinite(a_[i])) r_[i] = a_[i] = 0; // masked, or overflown
            if (!jacobian.noise.empty() && std::abs(r_[i] - a_[i]) <= jacobian.noise[i]) r_[i] = a_[i];
            if (!jacobian.noise.empty() && std::abs(r_[i]) <= jacobian.noise[i]) r_[i] = 0;
            scale_ = std::max(scale_, std::abs(r_[i]));
        }
        for (std::size_t i = 0; i < r_.size(); ++i) {
            for (double* v : {&a_[i], &r_[i]})
                if (std::abs(*v) <= 1e-14 * scale_) *v = 0;
            d_[i] = r_[i] - a_[i];
            if (std::abs(d_[i]) <= 1e-13 * scale_) d_[i] = 0;
            lost_ += a_[i] == 0 && r_[i] != 0;
            extra_ += a_[i] != 0 && r_[i] == 0;
            wrong_ += d_[i] != 0;
            support_ += r_[i] != 0 || a_[i] != 0;
        }
    }

    std::pair<Cause, double> find() const {
        if (unfinite_) return {Cause::not_finite, 0};
        if (wrong_ == 0) return {Cause::unknown, 0};
        if (lost_ > 0 && std::all_of(a_.begin(), a_.end(), [](double v) { return v == 0; }))
            return {Cause::never_written, 0};
        // By what is missing: a factor next to 1 fits anything.
        std::vector<double> exactly = r_;
        for (std::size_t i = 0; i < r_.size(); ++i) exactly[i] -= a_[i];
        if (const Fit lost = fit(exactly, r_);
            scale_ > 0 && lost.remainder < std::min(clear + 1e-15 * scale_ / largest(exactly), 1e-3))
            return {std::abs(lost.factor - 2) < clear ? Cause::sign : Cause::factor, 1 - lost.factor};
        return {structural(), 0};
    }

private:
    double a(std::size_t r, std::size_t c) const { return a_[r * columns_ + c]; }
    double right(std::size_t r, std::size_t c) const { return r_[r * columns_ + c]; }
    double missing(std::size_t r, std::size_t c) const { return d_[r * columns_ + c]; }
    bool reached(std::size_t r, std::size_t c) const { return right(r, c) != 0 || a(r, c) != 0; }

    static double largest(const std::vector<double>& numbers) {
        double size = 0;
        for (const double v : numbers) size = std::max(size, std::abs(v));
        return size;
    }

    Cause structural() const {
        if (is_transposed()) return Cause::transposed;
        if (largest(d_) > 1e-6 * scale_ && same_numbers()) return Cause::misplaced;
        if (is_not_summed()) return Cause::not_summed;
        if (is_other_branch()) return Cause::branch;
        if (has_factors(true) || has_factors(false)) return Cause::gain;
        if (is_wrong_where_small()) return Cause::epsilon;
        for (const auto& [cause, with_x, with_one] : {std::tuple{Cause::mean_of_cotangent, false, true},
                 std::tuple{Cause::along_x, true, false}, std::tuple{Cause::along_centred_x, true, true}})
            if (is_along(with_x, with_one)) return cause;
        if (is_other_statistic()) return Cause::statistic;
        if (extra_ == wrong_) return Cause::should_be_zero;
        if (lost_ == wrong_) return Cause::zeroed; // of a rank-1 term something is left on the diagonal
        if (is_rank_one()) return Cause::rank_one;
        if (lost_ > 0 && extra_ > 0) return Cause::misplaced;
        if (extra_ > 0) return Cause::should_be_zero;
        if (lost_ > 0) return Cause::zeroed;
        if (largest(d_) < 2e-3 * scale_) return Cause::small_term;
        if (3 * wrong_ <= support_) return Cause::some_elements;
        if (sparse(true) || sparse(false)) return Cause::slopes;
        return Cause::unknown;
    }

    bool is_transposed() const {
        if (rows_ != columns_) return false;
        std::vector<double> transposed(r_.size());
        for (std::size_t r = 0; r < rows_; ++r)
            for (std::size_t c = 0; c < columns_; ++c) transposed[c * rows_ + r] = right(r, c);
        return fit(a_, transposed).remainder < clear && fit(r_, transposed).remainder > clear;
    }

    bool same_numbers() const {
        std::vector<double> mine = a_, theirs = r_;
        std::sort(mine.begin(), mine.end());
        std::sort(theirs.begin(), theirs.end());
        for (std::size_t i = 0; i < mine.size(); ++i)
            if (std::abs(mine[i] - theirs[i]) > 1e-9 * scale_) return false;
        return true;
    }

    // The rows of some outputs are right, those of others zero, and the inputs they share get a part of the sum.
    bool is_not_summed() const {
        std::vector<char> row_lost(rows_, 0);
        bool any_lost = false, any_kept = false;
        for (std::size_t r = 0; r < rows_; ++r) {
            bool equal = true, zero = true, needed = false;
            for (std::size_t c = 0; c < columns_; ++c) {
                equal = equal && missing(r, c) == 0;
                zero = zero && a(r, c) == 0;
                needed = needed || right(r, c) != 0;
            }
            if (!equal && !zero) return false;
            row_lost[r] = !equal;
            any_lost = any_lost || !equal;
            any_kept = any_kept || (equal && needed);
        }
        if (!any_lost || !any_kept) return false;
        for (std::size_t c = 0; c < columns_; ++c) {
            bool lost = false, kept = false;
            for (std::size_t r = 0; r < rows_; ++r)
                if (right(r, c) != 0) (row_lost[r] ? lost : kept) = true;
            if (lost && kept) return true;
        }
        return false;
    }

    // Whole rows of x are right; where they are wrong, each element should act on itself alone: the floor holds there.
    bool is_other_branch() const {
        if (last_ < 2 || columns_ % last_ != 0) return false;
        bool any_right = false, any_wrong = false;
        for (std::size_t g = 0; g < columns_; g += last_) {
            bool wrong = false, alone = true;
            for (std::size_t r = 0; r < rows_; ++r) {
                std::size_t reaches = 0;
                for (std::size_t c = g; c < g + last_; ++c) {
                    wrong = wrong || missing(r, c) != 0;
                    reaches += right(r, c) != 0;
                }
                alone = alone && reaches <= 1;
            }
            if (wrong && !alone) return false;
            any_right = any_right || (!wrong && !alone);
            any_wrong = any_wrong || wrong;
        }
        return any_right && any_wrong;
    }

    // Every row (or column) is right but for a factor of its own. Lines of a single element would say nothing.
    bool has_factors(bool by_row) const {
        const std::size_t lines = by_row ? rows_ : columns_, length = by_row ? columns_ : rows_;
        std::size_t telling = 0;
        for (std::size_t l = 0; l < lines; ++l) {
            std::vector<double> mine(length), theirs(length);
            std::size_t elements = 0;
            for (std::size_t e = 0; e < length; ++e) {
                mine[e] = by_row ? a(l, e) : a(e, l);
                theirs[e] = by_row ? right(l, e) : right(e, l);
                elements += mine[e] != 0 || theirs[e] != 0;
            }
            if (elements == 0) continue;
            const Fit f = fit(mine, theirs);
            if (f.remainder > clear || f.factor == 0) return false;
            telling += elements > 1 && std::abs(f.factor - 1) > clear;
        }
        return telling > 1;
    }

    // Rows of large numbers are nearly right, the row of the smallest is not.
    bool is_wrong_where_small() const {
        if (last_ < 2 || columns_ % last_ != 0 || x_.size() != columns_) return false;
        struct Row {
            double size, error;
        };
        std::vector<Row> found;
        for (std::size_t g = 0; g < columns_; g += last_) {
            double mean = 0, size = 0, wrong = 0, whole = 0;
            for (std::size_t c = g; c < g + last_; ++c) mean += x_[c] / static_cast<double>(last_);
            for (std::size_t c = g; c < g + last_; ++c) {
                size += (x_[c] - mean) * (x_[c] - mean);
                for (std::size_t r = 0; r < rows_; ++r) {
                    wrong += missing(r, c) * missing(r, c);
                    whole += right(r, c) * right(r, c);
                }
            }
            if (whole > 0) found.push_back({std::sqrt(size), std::sqrt(wrong / whole)});
        }
        if (found.empty()) return false;
        const Row least =
            *std::min_element(found.begin(), found.end(), [](const Row& p, const Row& q) { return p.size < q.size; });
        return std::any_of(found.begin(), found.end(), [&](const Row& row) { return row.size > 10 * least.size; }) &&
               std::all_of(found.begin(), found.end(),
                   [&](const Row& row) { return row.size <= 10 * least.size || row.error < 0.01 * least.error; });
    }

    // What is missing in each row lies in the span of x and of a constant; rows of fewer than three elements would say nothing.
    bool is_along(bool with_x, bool with_one) const {
        if (with_x && x_.size() != columns_) return false;
        std::size_t telling = 0;
        for (std::size_t r = 0; r < rows_; ++r) {
            std::vector<double> m, x;
            for (std::size_t c = 0; c < columns_; ++c)
                if (reached(r, c)) {
                    m.push_back(missing(r, c));
                    x.push_back(with_x ? x_[c] : 1);
                }
            if (std::all_of(m.begin(), m.end(), [](double v) { return v == 0; })) continue;
            if (m.size() < 3) return false;
            if (with_x && with_one) { // without their means only a multiple of x is left
                double largest = 0, rest = 0;
                for (auto* v : {&m, &x}) {
                    double mean = 0;
                    for (const double e : *v) mean += e / static_cast<double>(v->size());
                    for (double& e : *v) {
                        if (v == &m) largest = std::max(largest, std::abs(e));
                        e -= mean;
                    }
                }
                const double factor = fit(m, x).factor;
                for (std::size_t i = 0; i < m.size(); ++i) rest = std::max(rest, std::abs(m[i] - factor * x[i]));
                if (rest > clear * largest) return false;
            } else if (fit(m, x).remainder > clear) {
                return false;
            }
            ++telling;
        }
        return telling > 0;
    }

    // What is missing in each row lies in the span of the right row and of x: r is another one. So does a single element of a norm's
    // row, which is a slope of its own.
    bool is_other_statistic() const {
        if (x_.size() != columns_) return false;
        std::size_t telling = 0;
        for (std::size_t r = 0; r < rows_; ++r) {
            std::vector<double> m, row, x;
            bool zero = true;
            for (std::size_t c = 0; c < columns_; ++c)
                if (reached(r, c)) {
                    m.push_back(missing(r, c));
                    row.push_back(right(r, c));
                    x.push_back(x_[c]);
                    zero = zero && a(r, c) == 0;
                }
            const double size = largest(m);
            if (size == 0) continue;
            if (zero || m.size() < 3 || std::count(m.begin(), m.end(), 0.) + 1 >= static_cast<std::ptrdiff_t>(m.size()))
                return false;
            const auto without = [](std::vector<double> v, const std::vector<double>& direction) {
                const double factor = fit(v, direction).factor;
                for (std::size_t i = 0; i < v.size(); ++i) v[i] -= factor * direction[i];
                return v;
            };
            const std::vector<double> across = without(row, x), rest = without(without(m, x), across);
            if (largest(rest) > clear * size) return false;
            ++telling;
        }
        return telling > 1;
    }

    // Outputs that depend on the same inputs miss multiples of one row.
    bool is_rank_one() const {
        std::vector<char> done(rows_, 0);
        std::size_t telling = 0;
        const auto same_inputs = [&](std::size_t p, std::size_t q) {
            for (std::size_t c = 0; c < columns_; ++c)
                if (reached(p, c) != reached(q, c)) return false;
            return true;
        };
        const auto row = [&](const std::vector<double>& matrix, std::size_t r) {
            return std::vector<double>(matrix.begin() + static_cast<std::ptrdiff_t>(r * columns_),
                matrix.begin() + static_cast<std::ptrdiff_t>((r + 1) * columns_));
        };
        for (std::size_t r = 0; r < rows_; ++r) {
            if (done[r]) continue;
            std::vector<std::size_t> together;
            for (std::size_t q = r; q < rows_; ++q)
                if (!done[q] && same_inputs(r, q)) {
                    together.push_back(q);
                    done[q] = 1;
                }
            const auto norm = [&](std::size_t q) {
                double sum = 0;
                for (const double v : row(d_, q)) sum += v * v;
                return sum;
            };
            const std::size_t longest =
                *std::max_element(together.begin(), together.end(), [&](auto p, auto q) { return norm(p) < norm(q); });
            if (norm(longest) == 0) continue;
            if (together.size() < 2) continue; // one row is always a product
            const std::vector<double> m = row(d_, longest), whole = row(r_, longest);
            bool varied = false; // the right rows are no multiples of each other
            for (const std::size_t q : together) {
                if (norm(q) > 1e-20 * norm(longest) && fit(row(d_, q), m).remainder > clear) return false;
                varied = varied || fit(row(r_, q), whole).remainder > 1e-3;
            }
            telling += varied;
        }
        return telling > 0;
    }

    // Every row (or column) has at most one element.
    bool sparse(bool by_row) const {
        for (std::size_t l = 0; l < (by_row ? rows_ : columns_); ++l) {
            std::size_t elements = 0;
            for (std::size_t e = 0; e < (by_row ? columns_ : rows_); ++e)
                elements += by_row ? reached(l, e) : reached(e, l);
            if (elements > 1) return false;
        }
        return true;
    }

    const std::size_t rows_, columns_;
    const std::vector<double>& x_;
    const std::size_t last_;
    std::vector<double> a_, r_, d_; // what the backward says, what is right, what is missing
    double scale_ = 0;
    bool unfinite_ = false;
    std::size_t lost_ = 0, extra_ = 0, wrong_ = 0, support_ = 0;
};

} // namespace

std::pair<Cause, double> likely_cause(const WrongJacobian& jacobian) { return CauseClassifier(jacobian).find(); }

} // namespace chalkgrad
