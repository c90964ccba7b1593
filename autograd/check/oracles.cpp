// The Jacobian as the backward, dual numbers and differences see it. Columns whose outputs do not overlap share a run.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/check/check_state.hpp>

namespace chalkgrad::detail {
namespace {

constexpr std::uint32_t nobody = static_cast<std::uint32_t>(-1);

/// Columns of one input that no output sees two of.
struct ColumnColour {
    std::vector<std::size_t> columns;
    Recycling<std::uint32_t> owner; ///< by row of all outputs: its column, or nobody
};

/// How fast a column moves in a shared run. Were it the same for all, slopes could cancel: those of a softmax add up to
/// 0. Twenty bits, so that no digit is lost when a step is added to an input.
double weight_of(std::size_t column) {
    return 1 + static_cast<double>((column + 1) * 0x9E3779B97F4A7C15u >> 44) * 0x1p-20;
}

/// Whether an output element depends on every element of input x, as the backward has it: then no columns can share a run.
bool some_output_feels_all(CheckState& s, std::size_t x) {
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Block& b = s.block(y, x);
        for (const Span& span : b.spans) {
            const double* row = b.analytic.data() + span.at;
            if (span.count == b.columns && std::find(row, row + span.count, 0.) == row + span.count) return true;
        }
    }
    return false;
}

/// First fit by the zeros of the backward's Jacobian. Those may be wrong, so what a shared run gives is believed only
/// where it agrees with them.
std::vector<ColumnColour> colour_columns(CheckState& s, std::size_t x) {
    const std::size_t columns = s.inputs[x].size();
    std::vector<ColumnColour> groups;
    if (some_output_feels_all(s, x)) {
        for (std::size_t j = 0; j < columns; ++j) groups.push_back({{j}, {}});
        return groups;
    }
    // The rows that column j reaches are rows[begin[j]], …, rows[begin[j + 1] − 1]; first begin[j + 2] counts them.
    std::vector<std::size_t> begin(columns + 2, 0);
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Block& b = s.block(y, x);
        b.each([&](std::size_t, std::size_t j, std::size_t k) { begin[j + 2] += b.analytic[k] != 0; });
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    Recycling<std::uint32_t> rows(begin.back());
    std::size_t row = 0;
    for (std::size_t y = 0; y < s.outputs.size(); row += s.block(y, x).rows, ++y) {
        const Block& b = s.block(y, x);
        b.each([&](std::size_t i, std::size_t j, std::size_t k) {
            if (b.analytic[k] != 0) rows[begin[j + 1]++] = static_cast<std::uint32_t>(row + i);
        });
    }
    for (std::size_t j = 0; j < columns; ++j) {
        const std::uint32_t *first = rows.data() + begin[j], *last = rows.data() + begin[j + 1];
        const auto free = [&](const ColumnColour& g) {
            return std::all_of(first, last, [&](std::uint32_t r) { return g.owner[r] == nobody; });
        };
        auto group = std::find_if(groups.begin(), groups.end(), free);
        if (group == groups.end())
            group = groups.insert(group, ColumnColour{{}, Recycling<std::uint32_t>(s.rows, nobody)});
        group->columns.push_back(j);
        for (const std::uint32_t* r = first; r != last; ++r) group->owner[*r] = static_cast<std::uint32_t>(j);
    }
    return groups;
}

/// The size of the largest element, to judge others by.
double scale_of(const Matrix& numbers) {
    double scale = 0;
    for (const double v : numbers)
        if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    return scale;
}

/// Calls f(block, row in the block, row of all outputs) for every output element.
template <class F> void each_row(CheckState& s, std::size_t x, F f) {
    std::size_t row = 0;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        Block& b = s.block(y, x);
        for (std::size_t i = 0; i < b.rows; ++i, ++row) f(b, i, row);
    }
}

/// What the backward says of the columns of one input, by row of all outputs.
class Backward {
public:
    Backward(CheckState& s, std::size_t x)
        : s_(s), x_(x), expected_{std::vector<double>(s.rows), {}, 0.1 * s.options.tolerance} {
        for (std::size_t y = 0; y < s.outputs.size(); ++y)
            expected_.size.insert(expected_.size.end(), s.outputs[y].size(), scale_of(s.block(y, x).analytic));
    }
    /// When column j moves alone, and when a group moves together; good until the next call.
    const Expected& of(std::size_t j) {
        each_row(s_, x_, [&](Block& b, std::size_t i, std::size_t row) {
            expected_.slope[row] = b.spans[i].holds(j) ? b.analytic[b.spans[i][j]] : 0;
        });
        return expected_;
    }
    const Expected& of(const ColumnColour& group) {
        each_row(s_, x_, [&](Block& b, std::size_t i, std::size_t row) {
            const std::size_t j = group.owner[row];
            expected_.slope[row] = j == nobody ? 0 : weight_of(j) * b.analytic[b.spans[i][j]];
        });
        return expected_;
    }

private:
    CheckState& s_;
    const std::size_t x_;
    Expected expected_;
};

/// Whether a shared run gives slopes as expected: then each belongs to the owner of its row.
bool believable(const Expected& expected, const std::vector<double>& slopes, const std::vector<double>& slack) {
    for (std::size_t row = 0; row < slopes.size(); ++row)
        if (!(std::abs(slopes[row] - expected.slope[row]) <= expected.tolerance * expected.size[row] + slack[row]))
            return false;
    return true;
}

// At a kink the value must lie between the slopes on both sides.
void note_kink(CheckState& s, const Block& b, std::size_t i, std::size_t j, const Column& column, std::size_t row) {
    const Slopes &left = column.both_sides->first, &right = column.both_sides->second;
    const Var<double>&x = s.inputs[b.input], &y = s.outputs[b.output];
    const double l = left.slope[row], r = right.slope[row], a = b.analytic[b.spans[i][j]];
    const double slack = s.options.tolerance * std::max(std::abs(l), std::abs(r)) +
                         10 * (left.error[row] + right.error[row]) + b.rounding;
    if (std::abs(l - r) <= slack && std::abs(a - l) <= slack) return; // smooth along this output
    const bool between = a >= std::min(l, r) - slack && a <= std::max(l, r) + slack;
    s.report.kinks.push_back({describe(x), multi_index(j, x.shape()), multi_index(i, y.shape()), l, r, a,
        (a - l) / (r - l), column.declared});
    if (between) return;
    ++s.report.failed;
    s.say(fmt::format(
        "on a kink of {}[{}] the backward gives {:.6g}, outside the slopes {:.6g} (left) and {:.6g} (right)",
        describe(x), fmt::join(multi_index(j, x.shape()), ", "), a, l, r));
}

void put_single(CheckState& s, std::size_t x, std::size_t j, const Column& column, const Expected& expected) {
    each_row(s, x, [&](Block& b, std::size_t i, std::size_t row) {
        if (!b.spans[i].holds(j)) {
            const auto felt = [&](const Slopes& slopes) {
                return !(std::abs(slopes.slope[row]) <=
                         expected.tolerance * expected.size[row] + slopes.error[row] + b.rounding);
            };
            s.sparsity_violated =
                s.sparsity_violated || felt(column) ||
                (column.both_sides && (felt(column.both_sides->first) || felt(column.both_sides->second)));
            return;
        }
        b.numeric[b.spans[i][j]] = column.slope[row];
        b.error[b.spans[i][j]] = column.error[row];
        if (!column.both_sides) return;
        b.on_kink[j] = column.declared ? 1 : 2;
        note_kink(s, b, i, j, column, row);
    });
}

template <class U> void fill_differences_in(CheckState& s) {
    Replay<U> program(s.outputs);
    Differences<U> differences(program, s.output_lines, s.options.quick);
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const std::size_t line = s.inputs[x].line();
        const double shortest = s.shortest(x);
        // Inside the forward, numbers of the size of x / length are rounded, and weigh what is as large as y: slopes below
        // that, over a step of a thousandth of the length, are not seen.
        const double unseen = 16 * static_cast<double>(std::numeric_limits<U>::epsilon()) *
                              std::max(1.0, CheckState::size_of(s.inputs[x]) / shortest) / (1e-3 * shortest);
        for (std::size_t y = 0; y < s.outputs.size(); ++y) {
            const double size = CheckState::size_of(s.outputs[y]);
            s.block(y, x).rounding =
                4 * std::numeric_limits<double>::epsilon() * size / shortest + unseen * std::max(1.0, size);
        }
        Backward backward(s, x);
        const bool confirms = !s.options.quick && std::is_same_v<U, long double>;
        const auto along = [&](const std::vector<std::size_t>& columns, const Expected& expected) {
            std::vector<Move> direction;
            for (const std::size_t j : columns) direction.push_back({line, j, columns.size() == 1 ? 1 : weight_of(j)});
            return differences.along(direction, s.dependents[x], s.lengths[x], confirms ? &expected : nullptr);
        };
        const auto by_itself = [&](std::size_t j) {
            const Expected& expected = backward.of(j);
            put_single(s, x, j, along({j}, expected), expected);
        };
        for (const ColumnColour& group : colour_columns(s, x)) {
            if (group.columns.size() == 1) {
                by_itself(group.columns[0]);
                continue;
            }
            const Expected& expected = backward.of(group);
            const Column column = along(group.columns, expected);
            if (!column.both_sides && believable(expected, column.slope, column.error)) {
                each_row(s, x, [&](Block& b, std::size_t i, std::size_t row) {
                    const std::uint32_t j = group.owner[row];
                    if (j == nobody) return;
                    b.numeric[b.spans[i][j]] = column.slope[row] / weight_of(j);
                    b.error[b.spans[i][j]] = column.error[row];
                });
            } else {
                for (const std::size_t j : group.columns) by_itself(j);
            }
        }
    }
}

/// The gradient of every output element; row(block, span, gradient) takes what arrives at an input, from the first element
/// of the span on.
template <class U, class Row> void each_sweep(CheckState& s, Replay<U>& program, Row row) {
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        std::vector<U> cotangent(s.outputs[y].size(), U(0));
        for (const std::vector<std::size_t>& rows : shared_sweeps(s, y)) {
            for (const std::size_t i : rows) cotangent[i] = 1;
            program.backward(s.output_lines[y], cotangent.data());
            for (const std::size_t i : rows) cotangent[i] = 0;
            for (std::size_t x = 0; x < s.inputs.size(); ++x) {
                const U* g = program.gradient(s.inputs[x].line());
                Block& b = s.block(y, x);
                for (const std::size_t i : rows)
                    if (g != nullptr) row(b, b.spans[i], g + b.spans[i].first);
            }
        }
    }
}

} // namespace

void fill_backward(CheckState& s, Matrix Block::*matrix) {
    each_sweep(s, s.program,
        [&](Block& b, const Span& span, const double* g) { std::copy_n(g, span.count, (b.*matrix).data() + span.at); });
}

// A wrong formula is as wrong in long double; what it gets better there was rounding, as far as it is small enough to
// be.
void measure_inexact(CheckState& s) {
    if (!s.has_dual || !s.blocks.front().evaluation_rounding.empty()) return;
    std::vector<double> losses;
    for (Block& b : s.blocks) {
        b.evaluation_rounding.assign(b.stored(), 0);
        losses.push_back(s.loss(b.output, b.input, std::numeric_limits<double>::epsilon()));
    }
    Replay<long double> program(s.outputs);
    each_sweep(s, program, [&](Block& b, const Span& span, const long double* g) {
        const double loss = losses[static_cast<std::size_t>(&b - s.blocks.data())];
        for (std::size_t n = 0; n < span.count; ++n) {
            const double gap = std::abs(b.analytic[span.at + n] - static_cast<double>(g[n]));
            if (gap <= loss) b.evaluation_rounding[span.at + n] = 10 * gap;
        }
    });
}

// Exact columns: one forward in dual numbers for each group of input elements.
void fill_dual(CheckState& s) {
    Replay<Dual<double>> program(s.outputs);
    std::vector<double> slopes(s.rows), exactly(s.rows, 0);
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const std::size_t line = s.inputs[x].line();
        const auto run = [&](const std::vector<std::size_t>& columns) {
            for (const std::size_t j : columns) program.values(line)[j].d = columns.size() == 1 ? 1 : weight_of(j);
            program.run(s.dependents[x]);
            for (const std::size_t j : columns) program.values(line)[j].d = 0;
            each_row(s, x, [&](Block& b, std::size_t i, std::size_t row) {
                slopes[row] = program.values(s.output_lines[b.output])[i].d;
            });
        };
        Backward backward(s, x);
        for (const ColumnColour& group : colour_columns(s, x)) {
            run(group.columns);
            if (group.columns.size() > 1 && believable(backward.of(group), slopes, exactly)) {
                each_row(s, x, [&](Block& b, std::size_t i, std::size_t row) {
                    const std::uint32_t j = group.owner[row];
                    if (j != nobody) b.dual[b.spans[i][j]] = slopes[row] / weight_of(j);
                });
                continue;
            }
            for (const std::size_t j : group.columns) {
                if (group.columns.size() > 1) run({j});
                const Expected& expected = backward.of(j);
                each_row(s, x, [&](Block& b, std::size_t i, std::size_t row) {
                    if (b.spans[i].holds(j)) b.dual[b.spans[i][j]] = slopes[row];
                    else if (!(std::abs(slopes[row]) <= expected.tolerance * expected.size[row]))
                        s.sparsity_violated = true;
                });
            }
        }
        program.run(s.dependents[x]);
    }
}

void fill_differences(CheckState& s) {
    if (s.has_dual && !s.options.quick) fill_differences_in<long double>(s);
    else fill_differences_in<double>(s);
}

// A slope that rounding of the inputs changes as much as the disagreement is not known better than that.
void measure_rounding(CheckState& s) {
    const auto suspicious = [&] {
        for (const Block& b : s.blocks) {
            const double allowed = s.options.tolerance * scale_of(b.numeric);
            bool found = false;
            for (const Span& span : b.spans)
                for (std::size_t k = span.at; k < span.at + span.count; ++k)
                    if (!(std::abs(b.analytic[k] - b.numeric[k]) <= allowed))
                        found |= !b.on_kink[span.first + k - span.at] &&
                                 std::abs(b.analytic[k] - b.numeric[k]) > allowed + b.slack(k);
            if (found) return true;
        }
        return false;
    };
    if (!suspicious()) return;
    measure_inexact(s);
    for (Block& b : s.blocks) {
        b.nearby.assign(b.stored(), 0);
        b.input_rounding = b.nearby;
    }
    for (std::uint64_t which = 0; which < 3; ++which)
        s.beside(which, a_few_units, [&] {
            fill_backward(s, &Block::nearby);
            for (Block& b : s.blocks)
                for (std::size_t k = 0; k < b.input_rounding.size(); ++k)
                    b.input_rounding[k] = std::max(b.input_rounding[k], std::abs(b.nearby[k] - b.analytic[k]));
        });
}

} // namespace chalkgrad::detail
