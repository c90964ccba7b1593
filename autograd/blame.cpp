// Blame: the transpose identity of single ops, and the shapes that known mistakes leave in a Jacobian.
#include <chalkgrad/autograd/blame.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/random.hpp>

namespace chalkgrad {

using detail::Index;
using detail::Record;
using detail::TapeState;

namespace {

/// One op with its own copies of everything, in scalar T.
template <class T>
class Alone {
public:
    Alone(const TapeState& tape, const Record& record) : record_(record), y_(record.shape->size()) {
        const Index* in = tape.inputs(record);
        shapes_.resize(record.input_count, nullptr);
        values_.resize(record.input_count);
        ins_.resize(record.input_count);
        for (std::size_t k = 0; k < record.input_count; ++k) {
            if (in[k] == detail::absent) continue;
            const Record& input = tape[in[k]];
            const double* from = static_cast<const double*>(input.value);
            values_[k].assign(from, from + input.shape->size());
            shapes_[k] = input.shape;
            ins_[k] = {values_[k].data(), shapes_[k]};
        }
        saved_.resize(record.op->saved({shapes_.data(), shapes_.size()}));
    }
    std::vector<T>& input(std::size_t k) { return values_[k]; }
    const std::vector<T>& forward() {
        record_.op->forward({ins_.data(), ins_.size()}, {y_.data(), record_.shape}, saved_.data());
        return y_;
    }
    /// The gradient of operand k for the cotangent gy; run forward() first.
    std::vector<T> vjp(std::size_t k, const std::vector<T>& gy) {
        std::vector<T> gradient(values_[k].size());
        std::vector<Out<T>> outs(values_.size());
        outs[k] = {gradient.data(), shapes_[k]};
        record_.op->vjp({ins_.data(), ins_.size()}, {y_.data(), record_.shape}, {gy.data(), record_.shape}, saved_.data(),
                        {outs.data(), outs.size()});
        return gradient;
    }

private:
    const Record& record_;
    std::vector<std::vector<T>> values_;
    std::vector<const Shape*> shapes_;
    std::vector<In<T>> ins_;
    std::vector<T> y_, saved_;
};

std::vector<double> draw(Generator& rng, std::size_t n) {
    std::vector<double> numbers(n);
    rng.fill_standard_normal(std::span<double>(numbers));
    return numbers;
}

/// J v of one op along operand k: exact in dual numbers, by differences where it runs in double only.
std::vector<double> along(const TapeState& tape, const Record& record, std::size_t k, const std::vector<double>& v, double& tolerance) {
    std::vector<double> result(record.shape->size());
    if (record.op->runs_in(Dtype::dual)) {
        Alone<Dual<double>> op(tape, record);
        for (std::size_t j = 0; j < v.size(); ++j) op.input(k)[j].d = v[j];
        const auto& y = op.forward();
        std::transform(y.begin(), y.end(), result.begin(), [](const Dual<double>& n) { return n.d; });
        tolerance = 1e-12;
        return result;
    }
    Alone<double> op(tape, record);
    const std::vector<double> x = op.input(k);
    double size = 0;
    for (const double number : x) size = std::max(size, std::abs(number));
    const double h = 1e-3 * (size > 0 ? size : 1);
    const auto at = [&](double t) {
        for (std::size_t j = 0; j < x.size(); ++j) op.input(k)[j] = x[j] + t * v[j];
        return op.forward();
    };
    const auto up = at(h), down = at(-h), up2 = at(2 * h), down2 = at(-2 * h);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = (8 * (up[i] - down[i]) - (up2[i] - down2[i])) / (12 * h);
    tolerance = 1e-7;
    return result;
}

/// A matrix of which only ratios and remainders matter.
struct Fit {
    double factor, remainder; // a ≈ factor · b, |a − factor b| / |a|
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
    return {factor, aa > 0 ? std::sqrt(rest / aa) : 1};
}

} // namespace

std::vector<Blame> blame(const Var<double>& y, std::uint64_t seed) {
    const Index last = y.checked("blame");
    const TapeState& tape = *y.state();
    if (tape.shapes_only) throw Error("blame: " + tape.label(last) + " has no numbers: its tape is shape-only");
    Generator rng{Seed(seed)};
    std::vector<Blame> found;
    for (Index i = 0; i <= last; ++i) {
        const Record& record = tape[i];
        if (record.op == nullptr || record.dtype != Dtype::f64 || record.op->conversion() != nullptr || !record.has(Record::needs_grad)) continue;
        Alone<double> op(tape, record);
        op.forward();
        const std::vector<double> w = draw(rng, record.shape->size());
        const Index* in = tape.inputs(record);
        for (std::size_t k = 0; k < record.input_count; ++k) {
            if (in[k] == detail::absent || !tape[in[k]].has(Record::needs_grad)) continue;
            const std::vector<double> v = draw(rng, op.input(k).size());
            const std::vector<double> gradient = op.vjp(k, w);
            double tolerance = 0;
            const std::vector<double> slope = along(tape, record, k, v, tolerance);
            double forward = 0, backward = 0, magnitude = 0;
            for (std::size_t n = 0; n < w.size(); ++n) {
                if (!std::isfinite(slope[n])) continue;
                forward += w[n] * slope[n];
                magnitude += std::abs(w[n] * slope[n]);
            }
            for (std::size_t n = 0; n < v.size(); ++n) {
                backward += gradient[n] * v[n];
                magnitude += std::abs(gradient[n] * v[n]);
            }
            const double error = magnitude > 0 ? std::abs(forward - backward) / magnitude : 0;
            if (error <= tolerance) continue;
            // The op's own Jacobian, right and wrong, for the hint; small ops only.
            std::string hint;
            const std::size_t rows = w.size(), columns = v.size();
            if (rows * columns <= 10000 && record.op->runs_in(Dtype::dual)) {
                std::vector<double> wrong(rows * columns), right(rows * columns), unit(std::max(rows, columns), 0.);
                for (std::size_t r = 0; r < rows; ++r) {
                    std::vector<double> e(rows, 0.);
                    e[r] = 1;
                    const auto g = op.vjp(k, e);
                    std::copy(g.begin(), g.end(), wrong.begin() + static_cast<std::ptrdiff_t>(r * columns));
                }
                for (std::size_t c = 0; c < columns; ++c) {
                    std::vector<double> e(columns, 0.);
                    e[c] = 1;
                    const auto column = along(tape, record, k, e, tolerance);
                    for (std::size_t r = 0; r < rows; ++r) right[r * columns + c] = column[r];
                }
                hint = likely_cause(wrong, right, rows, columns, op.input(k));
            }
            found.push_back({i, record.op->name(), tape.scope_path(record.scope), record.op->input_name(k), error, hint});
        }
    }
    return found;
}

std::string likely_cause(const std::vector<double>& analytic, const std::vector<double>& right, std::size_t rows, std::size_t columns,
                         const std::vector<double>& x) {
    constexpr double clear = 1e-6; // a pattern explains the gradient when nothing else is left of it
    if (std::all_of(analytic.begin(), analytic.end(), [](double a) { return a == 0; })) return "the gradient is zero: it was never written";
    if (const Fit whole = fit(analytic, right); whole.remainder < clear) {
        if (std::abs(whole.factor + 1) < clear) return "the sign is wrong";
        return fmt::format("off by a constant factor {:.6g}", whole.factor);
    }
    if (rows == columns) {
        std::vector<double> transposed(right.size());
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c) transposed[c * rows + r] = right[r * columns + c];
        if (fit(analytic, transposed).remainder < clear) return "the Jacobian is transposed";
    }
    // A factor that differs from element to element of the input, or of the output, but not within a column or row.
    std::vector<double> missing(right.size());
    for (std::size_t i = 0; i < right.size(); ++i) missing[i] = right[i] - analytic[i];
    const auto explained = [&](bool by_row) {
        const std::size_t lines = by_row ? rows : columns, length = by_row ? columns : rows;
        bool varied = false;
        double first = 0;
        for (std::size_t l = 0; l < lines; ++l) {
            std::vector<double> a(length), b(length);
            for (std::size_t e = 0; e < length; ++e) {
                const std::size_t at = by_row ? l * columns + e : e * columns + l;
                a[e] = analytic[at];
                b[e] = right[at];
            }
            if (std::all_of(b.begin(), b.end(), [](double v) { return v == 0; })) {
                if (std::any_of(a.begin(), a.end(), [](double v) { return v != 0; })) return false;
                continue;
            }
            const Fit f = fit(a, b);
            if (f.remainder > clear && std::any_of(a.begin(), a.end(), [](double v) { return v != 0; })) return false;
            if (l == 0) first = f.factor;
            varied = varied || std::abs(f.factor - first) > clear;
        }
        return varied;
    };
    if (explained(true)) return "each output's gradient has a factor of its own: a gain, or a slope, is missing or applied twice";
    if (explained(false)) return "each input element's gradient has a factor of its own: a mask, a gain or a slope of the wrong element";
    // What is missing is a multiple of x in every row: the statistic was treated as a constant, or its term has a wrong weight.
    if (x.size() == columns) {
        bool along_x = true;
        for (std::size_t r = 0; r < rows && along_x; ++r) {
            // x acts through its own row of features: compare where the right slope is not zero.
            std::vector<double> a, b;
            for (std::size_t c = 0; c < columns; ++c) {
                if (right[r * columns + c] == 0 && analytic[r * columns + c] == 0) continue;
                a.push_back(missing[r * columns + c]);
                b.push_back(x[c]);
            }
            if (std::all_of(a.begin(), a.end(), [](double v) { return std::abs(v) < 1e-12; })) continue;
            along_x = fit(a, b).remainder < 1e-4;
        }
        if (along_x) return "a term along x is missing or has a wrong weight: the statistic depends on x too";
    }
    bool constant_rows = true;
    for (std::size_t r = 0; r < rows && constant_rows; ++r) {
        double first = 0;
        bool seen = false;
        for (std::size_t c = 0; c < columns && constant_rows; ++c) {
            if (right[r * columns + c] == 0 && analytic[r * columns + c] == 0) continue;
            if (!seen) first = missing[r * columns + c];
            seen = true;
            constant_rows = std::abs(missing[r * columns + c] - first) <= 1e-6 * std::abs(first) + 1e-14;
        }
    }
    if (constant_rows) return "a constant is missing in every row: the mean of the cotangent was not subtracted";
    double most = 0, largest = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
        most = std::max(most, std::abs(missing[i]));
        largest = std::max(largest, std::abs(right[i]));
    }
    if (most < 1e-3 * largest) return "a small term is missing: ε dropped in the backward, or an approximation of the slope";
    const auto zeros = std::count_if(analytic.begin(), analytic.end(), [](double a) { return a == 0; });
    const auto right_zeros = std::count_if(right.begin(), right.end(), [](double a) { return a == 0; });
    if (zeros > right_zeros) return "some gradients are zero that should not be: a branch masked too much, or elements not summed over the broadcast axis";
    if (zeros < right_zeros) return "some gradients should be exactly zero: a mask or a clamp was forgotten, or a reduction runs over the wrong axis";
    return {};
}

} // namespace chalkgrad
