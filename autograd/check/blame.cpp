// Blame: the transpose identity of single ops.
#include <chalkgrad/autograd/check/blame.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/difference.hpp>
#include <chalkgrad/autograd/check/gap.hpp>
#include <chalkgrad/autograd/check/single_op.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>

namespace chalkgrad {

using detail::Index;
using detail::Record;
using detail::SingleOp;
using detail::TapeState;

namespace {

std::vector<double> draw(Generator& rng, std::size_t n) {
    std::vector<double> numbers(n);
    rng.fill_standard_normal(std::span<double>(numbers));
    return numbers;
}

/// J v of one op along operand k: exact in dual numbers, by differences where it runs in double only.
std::vector<double> along(
    const TapeState& tape, const Record& record, std::size_t k, const std::vector<double>& v, double& tolerance) {
    std::vector<double> result(record.shape->size());
    if (record.op->runs_in(Dtype::dual)) {
        SingleOp<Dual<double>> op(tape, record);
        for (std::size_t j = 0; j < v.size(); ++j) op.input(k)[j].d = v[j];
        const auto& y = op.forward();
        std::transform(y.begin(), y.end(), result.begin(), [](const Dual<double>& n) { return n.d; });
        tolerance = 1e-12;
        return result;
    }
    SingleOp<double> op(tape, record);
    const std::vector<double> x = op.input(k);
    double size = 0;
    for (const double number : x) size = std::max(size, std::abs(number));
    const double h = 1e-3 * (size > 0 ? size : 1);
    const auto at = [&](double t) {
        for (std::size_t j = 0; j < x.size(); ++j) op.input(k)[j] = x[j] + t * v[j];
        return op.forward();
    };
    const std::vector<double> up[3] = {at(h), at(2 * h), at(3 * h)}, down[3] = {at(-h), at(-2 * h), at(-3 * h)};
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = detail::central_estimate(up, down, i, h).slope;
    tolerance = 1e-7;
    return result;
}

/// ⟨w, J v⟩ − ⟨Jᵀw, v⟩ of one op along operand k, with its vjp run in T.
template <class T>
detail::Gap<T> transpose_gap(SingleOp<T>& op, std::size_t k, const std::vector<double>& v, const std::vector<double>& w,
    const std::vector<double>& slope) {
    const std::vector<T> gradient = op.vjp(k, std::vector<T>(w.begin(), w.end()));
    detail::Gap<T> result;
    for (std::size_t n = 0; n < w.size(); ++n)
        if (std::isfinite(slope[n])) result.add(static_cast<T>(w[n]) * static_cast<T>(slope[n]));
    for (std::size_t n = 0; n < v.size(); ++n) result.add(-gradient[n] * static_cast<T>(v[n]));
    return result;
}

double largest(const std::vector<double>& numbers) {
    double size = 0;
    for (const double v : numbers)
        if (std::isfinite(v)) size = std::max(size, std::abs(v));
    return size;
}

/// How far apart both sides of the identity are, relative to their terms; 0 where rounding may have done it: small enough for that at
/// these numbers, and all but gone in long double.
double transpose_error(const TapeState& tape, const Record& record, SingleOp<double>& op, std::size_t k,
    const std::vector<double>& v, const std::vector<double>& w, double& tolerance) {
    const std::vector<double> slope = along(tape, record, k, v, tolerance);
    const auto [gap, terms] = transpose_gap(op, k, v, w, slope);
    const double size = std::abs(gap), error = terms > 0 ? size / terms : 0;
    if (error <= tolerance || !record.op->runs_in(Dtype::f80)) return error;
    double weight = 0, reach = 0;
    for (const double number : w) weight += std::abs(number);
    for (const double number : v) reach += std::abs(number);
    const double loss = detail::rounding_loss(
        std::numeric_limits<double>::epsilon(), largest(op.forward()), largest(op.input(k)), op.length_scale());
    if (size > loss * weight * reach) return error;
    SingleOp<long double> finer(tape, record);
    finer.forward();
    return static_cast<double>(std::abs(transpose_gap(finer, k, v, w, slope).gap)) < 0.01 * size ? 0 : error;
}

} // namespace

const char* describe(Cause cause) {
    switch (cause) {
        case Cause::unknown:
            return "";
        case Cause::never_written:
            return "the gradient is zero: it was never written";
        case Cause::sign:
            return "the sign is wrong";
        case Cause::factor:
            return "off by a constant factor";
        case Cause::transposed:
            return "the Jacobian is transposed: the forward map where its transpose should be";
        case Cause::misplaced:
            return "gradients arrive at the wrong elements: an axis, a stride, an order, or the other branch";
        case Cause::not_summed:
            return "contributions are missing: overwritten where they should be added up, or not summed over the "
                   "broadcast axis";
        case Cause::gain:
            return "each output's gradient, or each input's, has a factor of its own: a gain or a slope is missing or "
                   "applied twice";
        case Cause::slopes:
            return "single elements have wrong slopes: look at the formula of the derivative, its powers and constants";
        case Cause::along_x:
            return "a term along x is missing or has a wrong weight: the statistic depends on x too";
        case Cause::along_centred_x:
            return "a term along x - mean(x) is missing or has a wrong weight: the variance depends on x too";
        case Cause::statistic:
            return "each row misses a multiple of itself and of x: the statistic is another one, by its mean, its root "
                   "or its epsilon";
        case Cause::mean_of_cotangent:
            return "a constant is missing in every row: the mean of the cotangent, or of x, was not subtracted";
        case Cause::rank_one:
            return "a rank-1 term is missing or has a wrong weight: the sum over the row that every element shares";
        case Cause::epsilon:
            return "wrong where the numbers are small, right elsewhere: epsilon was dropped in the backward";
        case Cause::small_term:
            return "a small term is missing: an approximation of the slope, or a sum cut short";
        case Cause::branch:
            return "right for some rows, wrong for others: a branch of the forward, such as a floor, was not followed";
        case Cause::should_be_zero:
            return "some gradients should be exactly zero: a mask or a clamp was forgotten, or a reduction runs over "
                   "the wrong axis";
        case Cause::zeroed:
            return "some gradients are zero that should not be: a branch closed too much, or a path of dependence left "
                   "out";
        case Cause::some_elements:
            return "a few elements are wrong and all others right: the term of a special element is missing";
    }
    return "";
}

std::vector<Blame> blame(const Var<double>& y, std::uint64_t seed) {
    const Index last = y.checked("blame");
    const TapeState& tape = *y.state();
    if (tape.shapes_only) throw Error("blame: " + tape.label(last) + " has no numbers: its tape is shape-only");
    Generator rng{Seed{0x626c616d65u, seed}}; // a stream of its own: v must not be the caller's x
    std::vector<Blame> found;
    for (Index i = 0; i <= last; ++i) {
        const Record& record = tape[i];
        if (record.op == nullptr || record.dtype != Dtype::f64 || record.op->conversion() != nullptr ||
            !record.has(Record::needs_grad))
            continue;
        SingleOp<double> op(tape, record);
        op.forward();
        const Index* in = tape.inputs(record);
        for (std::size_t k = 0; k < record.input_count; ++k) {
            if (in[k] == detail::absent || !tape[in[k]].has(Record::needs_grad)) continue;
            double tolerance = 0, error = 0;
            for (int direction = 0; direction < 3 && !(error > tolerance);
                 ++direction) { // in one a small error may cancel
                const std::vector<double> w = draw(rng, record.shape->size()), v = draw(rng, op.input(k).size());
                error = transpose_error(tape, record, op, k, v, w, tolerance);
            }
            if (error <= tolerance) continue;
            // The op's own Jacobian, right and wrong, for the hint; small ops only.
            const std::size_t rows = record.shape->size(), columns = op.input(k).size();
            std::pair<Cause, double> likely{Cause::unknown, 0};
            if (rows * columns <= 10000) {
                const Shape& shape = *tape[in[k]].shape;
                WrongJacobian jacobian{rows, columns, {}, std::vector<double>(rows * columns), op.input(k),
                    shape.rank() == 0 ? 1 : shape.last()};
                for (std::size_t r = 0; r < rows; ++r) {
                    std::vector<double> e(rows, 0.);
                    e[r] = 1;
                    const auto g = op.vjp(k, e);
                    jacobian.analytic.insert(jacobian.analytic.end(), g.begin(), g.end());
                }
                for (std::size_t c = 0; c < columns; ++c) {
                    std::vector<double> e(columns, 0.);
                    e[c] = 1;
                    const auto column = along(tape, record, k, e, tolerance);
                    for (std::size_t r = 0; r < rows; ++r) jacobian.right[r * columns + c] = column[r];
                }
                likely = likely_cause(jacobian);
            }
            std::string hint = describe(likely.first);
            if (likely.first == Cause::factor)
                hint += std::abs(likely.second - 1) < 1e-4
                            ? fmt::format(" 1 {} {:.2g}", likely.second < 1 ? '-' : '+', std::abs(likely.second - 1))
                            : fmt::format(" {:.6g}", likely.second);
            found.push_back({i, record.op->name(), tape.scope_path(record.scope), record.op->input_name(k), error,
                likely.first, hint});
        }
    }
    return found;
}

} // namespace chalkgrad
