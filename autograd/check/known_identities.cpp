// What must hold of any right Jacobian, without a difference: the transpose identity, declared identities, second
// order.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/check/check_state.hpp>

namespace chalkgrad::detail {
namespace {

using DualNumber = Dual<double>;

/// ⟨w, Jv⟩ − ⟨Jᵀw, v⟩ of one output, and Σ|terms| of both.
struct Gap {
    double gap = 0, terms = 0;
};
Gap transpose_gap(CheckState& s, Replay<DualNumber>& program, std::size_t y, const Array<double>& w,
    const std::vector<Array<double>>& v) {
    set_tangents(s, program, v);
    s.program.backward(s.output_lines[y], w.data());
    Gap result;
    const auto add = [&](double term) {
        result.gap += term;
        result.terms += std::abs(term);
    };
    for (std::size_t i = 0; i < w.size(); ++i)
        if (w.data()[i] != 0) add(w.data()[i] * program.values(s.output_lines[y])[i].d);
    for (std::size_t x = 0; x < s.inputs.size(); ++x)
        if (const double* g = s.program.gradient(s.inputs[x].line()))
            for (std::size_t j = 0; j < s.inputs[x].size(); ++j) add(-g[j] * v[x].data()[j]);
    return result;
}

/// What rounding in Jᵀw changes of ⟨Jᵀw, v⟩: ten times what long double gets better there, as far as it is small enough to be
/// rounding.
double lost_by_rounding(CheckState& s, std::size_t y, const Array<double>& w, const std::vector<Array<double>>& v) {
    Replay<long double> finer(s.outputs);
    const std::vector<long double> cotangent(w.begin(), w.end());
    finer.backward(s.output_lines[y], cotangent.data());
    s.program.backward(s.output_lines[y], w.data());
    double weight = 0, lost = 0;
    for (const double number : w) weight += std::abs(number);
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const double* g = s.program.gradient(s.inputs[x].line());
        const long double* better = finer.gradient(s.inputs[x].line());
        if (g == nullptr || better == nullptr) continue;
        const double loss = weight * s.loss(y, x, std::numeric_limits<double>::epsilon());
        for (std::size_t j = 0; j < s.inputs[x].size(); ++j) {
            const double gap = std::abs(g[j] - static_cast<double>(better[j]));
            if (gap <= loss) lost += 10 * gap * std::abs(v[x].data()[j]);
        }
    }
    return lost;
}

/// On a kink an op may follow its forward, or take any slope between both sides: then ⟨Jᵀw, v⟩ lies between what y does from here along
/// v and along −v, weighted with w. Ties that all get the whole slope do not.
bool lies_between_sides(CheckState& s, std::size_t y, const Array<double>& w, const std::vector<Array<double>>& v) {
    std::vector<Move> moves;
    double shortest = 1, backward = 0;
    s.program.backward(s.output_lines[y], w.data());
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const double* g = s.program.gradient(s.inputs[x].line());
        shortest = std::min(shortest, s.shortest(x));
        for (std::size_t j = 0; j < s.inputs[x].size(); ++j) {
            moves.push_back({s.inputs[x].line(), j, v[x].data()[j]});
            if (g != nullptr) backward += g[j] * v[x].data()[j];
        }
    }
    Replay<long double> finer(s.outputs);
    Differences<long double> differences(finer, {s.output_lines[y]});
    const Column column = differences.along(moves, s.lines, {0.1 * shortest});
    if (!column.both_sides) return false;
    double least = 0, most = 0, slack = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
        const double left = w.data()[i] * column.both_sides->first.slope[i],
                     right = w.data()[i] * column.both_sides->second.slope[i];
        least += std::min(left, right);
        most += std::max(left, right);
        slack += s.options.tolerance * (std::abs(left) + std::abs(right)) +
                 10 * std::abs(w.data()[i]) * (column.both_sides->first.error[i] + column.both_sides->second.error[i]);
    }
    return backward >= least - slack && backward <= most + slack;
}

} // namespace

void check_transpose(CheckState& s) {
    Generator rng = s.stream(0);
    Replay<DualNumber> program(s.outputs);
    std::vector<Array<double>> v = draw_directions(s, rng);
    // On a kink that no op declares, the slopes on both sides have been looked at element by element, and that is all.
    bool on_kink = false;
    for (const Block& b : s.blocks)
        for (std::size_t j = 0; j < b.columns; ++j) {
            if (b.on_kink[j] == 2) v[b.input].data()[j] = 0;
            on_kink = on_kink || b.on_kink[j] == 1;
        }
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Array<double> w = draw_cotangent(s.outputs[y], rng);
        double magnitude = 0, rounding = 0;
        for (std::size_t x = 0; x < s.inputs.size(); ++x) {
            const Block& b = s.block(y, x);
            // The last digits of y; and slopes that are smaller than those of numbers of size 1 are lost in dual numbers.
            const double digits = 4 * std::numeric_limits<double>::epsilon() / s.shortest(x),
                         size = CheckState::size_of(s.outputs[y]);
            b.each([&](std::size_t i, std::size_t j, std::size_t k) {
                const double weight = std::abs(w.data()[i] * v[x].data()[j]);
                const double dual = std::abs(b.dual[k]), analytic = std::abs(b.analytic[k]);
                if (weight != 0) magnitude += weight * dual;
                rounding += weight * digits * size;
                if (std::max(dual, analytic) <= digits * std::max(1.0, size)) rounding += weight * (dual + analytic);
            });
        }
        const double broken = transpose_gap(s, program, y, w, v).gap, size = std::abs(broken);
        if (std::isnan(broken)) {
            s.report.transpose = std::numeric_limits<double>::quiet_NaN();
            continue;
        }
        if (size <= s.options.identity_tolerance * magnitude) {
            if (size != 0) s.report.transpose = std::max(s.report.transpose, size / magnitude);
            continue;
        }
        if (on_kink && lies_between_sides(s, y, w, v)) continue;
        // A mistake stays what it is in long double, and when the inputs are rounded otherwise; rounding errors do not.
        bool rounded = size <= rounding || size <= rounding + lost_by_rounding(s, y, w, v);
        for (std::uint64_t which = 0; which < 3 && !rounded; ++which)
            s.beside(which, a_few_units,
                [&] { rounded = std::abs(transpose_gap(s, program, y, w, v).gap - broken) > 0.1 * size; });
        if (rounded) s.below_noise = true;
        else s.report.transpose = std::max(s.report.transpose, magnitude > 0 ? size / magnitude : HUGE_VAL);
    }
}

// ---- what the caller knows of the Jacobian

namespace {

/// The input an identity is about, by position; throws Error where its arrays do not fit.
std::size_t input_of(const CheckState& s, const Identity& known) {
    const auto input =
        std::find_if(s.inputs.begin(), s.inputs.end(), [&](const Var<double>& x) { return x.name() == known.input; });
    if (!known.zero && !known.degree &&
        (known.direction.size() != input->size() || (known.product.size() > 1 && known.product.size() != s.rows)))
        throw Error(
            fmt::format("gradcheck: the identity \"{}\" has a direction of {} and a product of {} numbers; '{}' has "
                        "{}, the output {}",
                known.says, known.direction.size(), known.product.size(), known.input, input->size(), s.rows));
    return static_cast<std::size_t>(input - s.inputs.begin());
}

/// Element `row` of J direction, which is element i of output y.
double known_product_at(CheckState& s, const Identity& known, std::size_t y, std::size_t i, std::size_t row) {
    if (known.degree) return *known.degree * s.program.values(s.output_lines[y])[i];
    return known.product.size() == 0 ? 0 : known.product.data()[known.product.size() == 1 ? 0 : row];
}

/// J direction − product by row of all outputs, from one of the matrices; and the largest Σ|terms| of a row.
std::vector<double> product_gap(
    CheckState& s, const Identity& known, std::size_t x, Matrix Block::*matrix, double& terms) {
    std::vector<double> gaps;
    std::size_t row = 0;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Block& b = s.block(y, x);
        const double* direction = known.degree ? s.program.values(s.inputs[x].line()) : known.direction.data();
        for (std::size_t i = 0; i < b.rows; ++i, ++row) {
            const double product = known_product_at(s, known, y, i, row);
            long double sum = -product;
            double size = std::abs(product);
            b.each_of_row(i, [&](std::size_t j, std::size_t k) {
                const double term = (b.*matrix)[k] * direction[j];
                sum += term;
                size += std::abs(term);
            });
            gaps.push_back(static_cast<double>(sum));
            if (std::isfinite(size)) terms = std::max(terms, size);
        }
    }
    return gaps;
}

void check_product(CheckState& s, const Identity& known, std::size_t x) {
    double terms = 0, ignored = 0;
    const std::vector<double> gaps = product_gap(s, known, x, &Block::analytic, terms);
    const auto too_large = [&](double gap, double allowed) {
        return std::abs(gap) > s.options.identity_tolerance * terms + allowed;
    };
    std::vector<double> allowed(gaps.size(), 0);
    if (std::any_of(gaps.begin(), gaps.end(), [&](double gap) { return too_large(gap, 0); })) {
        measure_inexact(s);
        std::size_t row = 0;
        for (std::size_t y = 0; y < s.outputs.size(); ++y) {
            const Block& b = s.block(y, x);
            const double* direction = known.degree ? s.program.values(s.inputs[x].line()) : known.direction.data();
            const double loss = s.loss(y, x, std::numeric_limits<double>::epsilon());
            double longest = 0;
            for (std::size_t j = 0; j < b.columns; ++j) longest = std::max(longest, std::abs(direction[j]));
            for (std::size_t i = 0; i < b.rows; ++i, ++row) {
                allowed[row] = loss * longest;
                if (b.evaluation_rounding.empty()) continue;
                b.each_of_row(i, [&](std::size_t j, std::size_t k) {
                    allowed[row] += b.evaluation_rounding[k] * std::abs(direction[j]);
                });
            }
        }
        for (Block& b : s.blocks) b.nearby.assign(b.stored(), 0);
        for (std::uint64_t which = 0; which < 3; ++which)
            s.beside(which, a_few_units, [&] {
                fill_backward(s, &Block::nearby);
                const std::vector<double> there = product_gap(s, known, x, &Block::nearby, ignored);
                for (std::size_t r = 0; r < gaps.size(); ++r)
                    allowed[r] = std::max(allowed[r], 30 * std::abs(there[r] - gaps[r]));
            });
    }
    for (std::size_t r = 0; r < gaps.size(); ++r) {
        if (!std::isfinite(gaps[r])) continue;
        const bool broken = too_large(gaps[r], allowed[r]);
        if (!broken && allowed[r] > 0) continue; // rounding
        s.report.identity = std::max(*s.report.identity, terms > 0 ? std::abs(gaps[r]) / terms : 0);
        if (!broken) continue;
        s.break_contract(
            fmt::format("the backward breaks what is known of {}: {}; at output element {} it is off by {:.3g}",
                known.input, known.says, r, gaps[r]));
        return;
    }
}

void check_zeros(CheckState& s, const Identity& known, std::size_t x) {
    std::size_t row = 0;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Block& b = s.block(y, x);
        for (std::size_t i = 0; i < b.rows; ++i, ++row)
            for (std::size_t n = 0; n < b.spans[i].count; ++n) {
                const std::size_t j = b.spans[i].first + n;
                const double a = b.analytic[b.spans[i].at + n];
                if (a == 0 || !known.zero(row, j)) continue;
                const auto largest = std::max_element(
                    b.analytic.begin(), b.analytic.end(), [](double p, double q) { return std::abs(p) < std::abs(q); });
                s.report.identity = std::max(*s.report.identity, std::abs(a) / std::abs(*largest));
                s.break_contract(fmt::format(
                    "the backward breaks what is known of {}: {}; but d {}[{}] / d {}[{}] is {:.6g}", known.input,
                    known.says, describe(s.outputs[y]), fmt::join(multi_index(i, s.outputs[y].shape()), ", "),
                    known.input, fmt::join(multi_index(j, s.inputs[x].shape()), ", "), a));
                return;
            }
    }
}

} // namespace

void check_identities(CheckState& s) {
    for (const Identity& known : s.options.identities) {
        const std::size_t x = input_of(s, known);
        s.report.identity = s.report.identity.value_or(0);
        if (known.zero) check_zeros(s, known, x);
        else check_product(s, known, x);
    }
}

// ---- directions instead of a Jacobian

namespace {

/// Whether declared identities hold for random cotangents: ⟨Jᵀw, d⟩ = ⟨w, J d⟩, and of some output elements all zeros.
bool identities_agree(CheckState& s, Generator& rng) {
    for (const Identity& known : s.options.identities) {
        const std::size_t x = input_of(s, known);
        const Var<double>& input = s.inputs[x];
        std::size_t first = 0; // row of all outputs
        for (std::size_t y = 0; y < s.outputs.size(); first += s.outputs[y++].size()) {
            const std::size_t rows = s.outputs[y].size();
            if (known.zero) {
                std::vector<double> one(rows, 0.);
                for (std::size_t tries = 0; tries < std::min<std::size_t>(rows, 8); ++tries) {
                    const std::size_t i = rng.integers<std::size_t>(0, rows);
                    one[i] = 1;
                    s.program.backward(s.output_lines[y], one.data());
                    one[i] = 0;
                    const double* g = s.program.gradient(input.line());
                    for (std::size_t j = 0; g != nullptr && j < input.size(); ++j)
                        if (g[j] != 0 && known.zero(first + i, j)) return false;
                }
                continue;
            }
            const Array<double> w = draw_cotangent(s.outputs[y], rng);
            s.program.backward(s.output_lines[y], w.data());
            const double* g = s.program.gradient(input.line());
            const double* direction = known.degree ? input.data() : known.direction.data();
            double gap = 0, terms = 0, weight = 0;
            const auto add = [&](double term) {
                gap += term;
                terms += std::abs(term);
            };
            for (std::size_t i = 0; i < rows; ++i) {
                weight += std::abs(w.data()[i]);
                if (w.data()[i] != 0) add(-w.data()[i] * known_product_at(s, known, y, i, first + i));
            }
            for (std::size_t j = 0; g != nullptr && j < input.size(); ++j) add(g[j] * direction[j]);
            const double loss = weight * s.loss(y, x, std::numeric_limits<double>::epsilon());
            if (!(std::abs(gap) <= s.options.identity_tolerance * terms + loss)) return false;
            if (terms > 0) s.report.identity = std::max(s.report.identity.value_or(0), std::abs(gap) / terms);
        }
        s.report.identity = s.report.identity.value_or(0);
    }
    return true;
}

} // namespace

bool agrees_along_directions(CheckState& s) {
    constexpr std::uint64_t directions = 4;
    Replay<DualNumber> dual(s.outputs);
    Replay<long double> program(s.outputs);
    Differences<long double> differences(program, s.output_lines);
    for (std::uint64_t which = 0; which < directions; ++which) {
        Generator rng = s.stream(4, which);
        std::vector<Array<double>> v = draw_directions(s, rng);
        // Each input moves by its own lengths, so that none swamps another.
        std::vector<Move> moves;
        double shortest = 1;
        for (std::size_t x = 0; x < s.inputs.size(); ++x) {
            const double whole = s.lengths[x].front();
            shortest = std::min(shortest, s.shortest(x) / whole);
            for (std::size_t j = 0; j < v[x].size(); ++j) {
                v[x].data()[j] *= whole;
                moves.push_back({s.inputs[x].line(), j, v[x].data()[j]});
            }
        }
        const Column column = differences.along(moves, s.lines, {0.1, 0.1 * shortest});
        std::size_t row = 0;
        for (std::size_t y = 0; y < s.outputs.size(); ++y) {
            const Array<double> w = draw_cotangent(s.outputs[y], rng);
            const Gap gap = transpose_gap(s, dual, y, w, v);
            if (!std::isfinite(gap.gap)) return false;
            if (gap.terms > 0) s.report.transpose = std::max(s.report.transpose, std::abs(gap.gap) / gap.terms);
            double scale = 0, worst = 0;
            for (std::size_t i = 0; i < s.outputs[y].size(); ++i, ++row) {
                const double exact = dual.values(s.output_lines[y])[i].d;
                if (w.data()[i] == 0 || column.both_sides) continue;
                scale = std::max(scale, std::abs(exact));
                worst = std::max(worst, std::abs(exact - column.slope[row]));
                s.report.resolution =
                    std::max(s.report.resolution, column.error[row] / std::max(std::abs(exact), 1e-300));
            }
            if (scale > 0) s.report.difference = std::max(s.report.difference, worst / scale);
            s.report.elements += s.outputs[y].size();
        }
    }
    s.report.projected = true;
    Generator rng = s.stream(11);
    return identities_agree(s, rng) && s.report.difference <= s.options.tolerance &&
           s.report.transpose <= s.options.identity_tolerance;
}

} // namespace chalkgrad::detail
