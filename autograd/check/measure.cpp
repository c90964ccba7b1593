// The Jacobian as the backward, dual numbers and differences see it; columns of one colour share a run.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/check/colouring.hpp>
#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

/// The size of the largest element, to judge others by.
double scale_of(const Matrix& numbers) {
    double scale = 0;
    for (const double v : numbers)
        if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    return scale;
}

/// Calls f(block, row in the block, row of all outputs) for every output element.
template <class F> void each_row(Jacobians& jacobians, std::size_t x, F f) {
    std::size_t row = 0;
    for (std::size_t at = x; at < jacobians.blocks.size(); at += jacobians.inputs) {
        Block& b = jacobians.blocks[at];
        for (std::size_t i = 0; i < b.rows; ++i, ++row) f(b, i, row);
    }
}

/// What the backward says of the columns of one input, by row of all outputs.
class Backward {
public:
    Backward(const CheckedProgram& s, Jacobians& jacobians, std::size_t x)
        : jacobians_(jacobians), x_(x), expected_{std::vector<double>(s.rows), {}, 0.1 * s.options.tolerance} {
        for (std::size_t y = 0; y < s.outputs.size(); ++y)
            expected_.size.insert(expected_.size.end(), s.outputs[y].size(), scale_of(jacobians.block(y, x).analytic));
    }
    /// When column j moves alone, and when a colour moves together; good until the next call.
    const Expected& of(std::size_t j) {
        each_row(jacobians_, x_, [&](Block& b, std::size_t i, std::size_t row) {
            expected_.slope[row] = b.spans[i].holds(j) ? b.analytic[b.spans[i][j]] : 0;
        });
        return expected_;
    }
    const Expected& of(const ColumnColour& colour) {
        each_row(jacobians_, x_, [&](Block& b, std::size_t i, std::size_t row) {
            const std::size_t j = colour.owner[row];
            expected_.slope[row] = j == nobody ? 0 : weight_of(j) * b.analytic[b.spans[i][j]];
        });
        return expected_;
    }

private:
    Jacobians& jacobians_;
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
void note_kink(const CheckedProgram& s, Findings& found, const Block& b, std::size_t i, std::size_t j,
    const Column& column, std::size_t row) {
    const Slopes &left = column.both_sides->first, &right = column.both_sides->second;
    const Var<double>&x = s.inputs[b.input], &y = s.outputs[b.output];
    const double l = left.slope[row], r = right.slope[row], a = b.analytic[b.spans[i][j]];
    const double slack = s.options.tolerance * std::max(std::abs(l), std::abs(r)) +
                         10 * (left.error[row] + right.error[row]) + b.rounding;
    if (std::abs(l - r) <= slack && std::abs(a - l) <= slack) return; // smooth along this output
    const bool between = a >= std::min(l, r) - slack && a <= std::max(l, r) + slack;
    found.report.kinks.push_back({describe(x), multi_index(j, x.shape()), multi_index(i, y.shape()), l, r, a,
        (a - l) / (r - l), column.declared});
    if (between) return;
    ++found.report.failed;
    found.say(fmt::format(
        "on a kink of {}[{}] the backward gives {:.6g}, outside the slopes {:.6g} (left) and {:.6g} (right)",
        describe(x), fmt::join(multi_index(j, x.shape()), ", "), a, l, r));
}

/// The numbers of a column that moved alone; false where an output depends on it outside its span.
bool put_single(const CheckedProgram& s, Measured& measured, std::size_t x, std::size_t j, const Column& column,
    const Expected& expected) {
    bool holds = true;
    each_row(measured.jacobians, x, [&](Block& b, std::size_t i, std::size_t row) {
        if (!b.spans[i].holds(j)) {
            const auto is_zero = [&](const Slopes& slopes) {
                return std::abs(slopes.slope[row]) <=
                       expected.tolerance * expected.size[row] + slopes.error[row] + b.rounding;
            };
            holds = holds && is_zero(column) &&
                    (!column.both_sides || (is_zero(column.both_sides->first) && is_zero(column.both_sides->second)));
            return;
        }
        b.numeric[b.spans[i][j]] = column.slope[row];
        b.error[b.spans[i][j]] = column.error[row];
        if (!column.both_sides) return;
        b.on_kink[j] = column.declared ? 1 : 2;
        note_kink(s, measured.found, b, i, j, column, row);
    });
    return holds;
}

/// False where the structure does not hold.
template <class U> bool fill_differences(const CheckedProgram& s, Measured& measured) {
    Jacobians& jacobians = measured.jacobians;
    Replay<U> program(s.outputs);
    Differences<U> differences(program, s.output_lines, s.options.quick);
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const std::size_t line = s.inputs[x].line();
        const double shortest = s.shortest(x);
        // Inside the forward, numbers of the size of x / length are rounded, and weigh what is as large as y: slopes below
        // that, over a step of a thousandth of the length, are not seen.
        const double unseen = 16 * static_cast<double>(std::numeric_limits<U>::epsilon()) *
                              std::max(1.0, CheckedProgram::size_of(s.inputs[x]) / shortest) / (1e-3 * shortest);
        for (std::size_t y = 0; y < s.outputs.size(); ++y) {
            const double size = CheckedProgram::size_of(s.outputs[y]);
            jacobians.block(y, x).rounding =
                4 * std::numeric_limits<double>::epsilon() * size / shortest + unseen * std::max(1.0, size);
        }
        Backward backward(s, jacobians, x);
        const bool confirms = !s.options.quick && std::is_same_v<U, long double>;
        const auto along = [&](const std::vector<std::size_t>& columns, const Expected& expected) {
            std::vector<Move> direction;
            for (const std::size_t j : columns) direction.push_back({line, j, columns.size() == 1 ? 1 : weight_of(j)});
            return differences.along(direction, s.dependents[x], s.lengths[x], confirms ? &expected : nullptr);
        };
        const auto by_itself = [&](std::size_t j) {
            const Expected& expected = backward.of(j);
            return put_single(s, measured, x, j, along({j}, expected), expected);
        };
        for (const ColumnColour& colour : colour_columns(jacobians, x)) {
            if (colour.columns.size() == 1) {
                if (!by_itself(colour.columns[0])) return false;
                continue;
            }
            const Expected& expected = backward.of(colour);
            const Column column = along(colour.columns, expected);
            if (!column.both_sides && believable(expected, column.slope, column.error)) {
                each_row(jacobians, x, [&](Block& b, std::size_t i, std::size_t row) {
                    const std::uint32_t j = colour.owner[row];
                    if (j == nobody) return;
                    b.numeric[b.spans[i][j]] = column.slope[row] / weight_of(j);
                    b.error[b.spans[i][j]] = column.error[row];
                });
            } else {
                for (const std::size_t j : colour.columns)
                    if (!by_itself(j)) return false;
            }
        }
    }
    return true;
}

/// The gradient of every output element; row(block, span, gradient) takes what arrives at an input, from the first element
/// of the span on.
template <class U, class Row>
void each_sweep(const CheckedProgram& s, Jacobians& jacobians, Replay<U>& program, Row row) {
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        std::vector<U> cotangent(s.outputs[y].size(), U(0));
        for (const std::vector<std::size_t>& rows : colour_rows(jacobians, y)) {
            for (const std::size_t i : rows) cotangent[i] = 1;
            program.backward(s.output_lines[y], cotangent.data());
            for (const std::size_t i : rows) cotangent[i] = 0;
            for (std::size_t x = 0; x < s.inputs.size(); ++x) {
                const U* g = program.gradient(s.inputs[x].line());
                Block& b = jacobians.block(y, x);
                for (const std::size_t i : rows)
                    if (g != nullptr) row(b, b.spans[i], g + b.spans[i].first);
            }
        }
    }
}

/// Exact columns: one forward in dual numbers for each colour. False where the structure does not hold.
bool fill_dual(const CheckedProgram& s, Jacobians& jacobians) {
    bool holds = true;
    Replay<Dual<double>> program(s.outputs);
    std::vector<double> slopes(s.rows), exactly(s.rows, 0);
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const std::size_t line = s.inputs[x].line();
        const auto run = [&](const std::vector<std::size_t>& columns) {
            for (const std::size_t j : columns) program.values(line)[j].d = columns.size() == 1 ? 1 : weight_of(j);
            program.run(s.dependents[x]);
            for (const std::size_t j : columns) program.values(line)[j].d = 0;
            each_row(jacobians, x, [&](Block& b, std::size_t i, std::size_t row) {
                slopes[row] = program.values(s.output_lines[b.output])[i].d;
            });
        };
        Backward backward(s, jacobians, x);
        for (const ColumnColour& colour : colour_columns(jacobians, x)) {
            run(colour.columns);
            if (colour.columns.size() > 1 && believable(backward.of(colour), slopes, exactly)) {
                each_row(jacobians, x, [&](Block& b, std::size_t i, std::size_t row) {
                    const std::uint32_t j = colour.owner[row];
                    if (j != nobody) b.dual[b.spans[i][j]] = slopes[row] / weight_of(j);
                });
                continue;
            }
            for (const std::size_t j : colour.columns) {
                if (colour.columns.size() > 1) run({j});
                const Expected& expected = backward.of(j);
                each_row(jacobians, x, [&](Block& b, std::size_t i, std::size_t row) {
                    if (b.spans[i].holds(j)) b.dual[b.spans[i][j]] = slopes[row];
                    else if (!(std::abs(slopes[row]) <= expected.tolerance * expected.size[row])) holds = false;
                });
            }
        }
        if (!holds) return false;
        program.run(s.dependents[x]);
    }
    return true;
}

} // namespace

void fill_backward(CheckedProgram& s, Jacobians& jacobians, Matrix Block::*matrix) {
    each_sweep(s, jacobians, s.program,
        [&](Block& b, const Span& span, const double* g) { std::copy_n(g, span.count, (b.*matrix).data() + span.at); });
}

std::optional<Measured> measure_jacobians(CheckedProgram& s, const Structure& structure) {
    Measured measured{Jacobians(s, structure), {}};
    fill_backward(s, measured.jacobians, &Block::analytic);
    if (s.has_dual && !fill_dual(s, measured.jacobians)) return {};
    if (s.has_dual ? fill_differences<long double>(s, measured) : fill_differences<double>(s, measured))
        return measured;
    return {};
}

// A wrong formula is as wrong in long double; what it gets better there was rounding, as far as it is small enough to
// be.
void measure_evaluation_rounding(CheckedProgram& s, Jacobians& jacobians) {
    if (!s.has_dual || !jacobians.blocks.front().evaluation_rounding.empty()) return;
    std::vector<double> losses;
    for (Block& b : jacobians.blocks) {
        b.evaluation_rounding.assign(b.stored(), 0);
        losses.push_back(s.loss(b.output, b.input, std::numeric_limits<double>::epsilon()));
    }
    Replay<long double> program(s.outputs);
    each_sweep(s, jacobians, program, [&](Block& b, const Span& span, const long double* g) {
        const double loss = losses[static_cast<std::size_t>(&b - jacobians.blocks.data())];
        for (std::size_t n = 0; n < span.count; ++n) {
            const double gap = std::abs(b.analytic[span.at + n] - static_cast<double>(g[n]));
            if (gap <= loss) b.evaluation_rounding[span.at + n] = 10 * gap;
        }
    });
}

// A slope that rounding of the inputs changes as much as the disagreement is not known better than that.
void measure_rounding(CheckedProgram& s, Jacobians& jacobians) {
    const auto suspicious = [&] {
        for (const Block& b : jacobians.blocks) {
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
    measure_evaluation_rounding(s, jacobians);
    for (Block& b : jacobians.blocks) {
        b.nearby.assign(b.stored(), 0);
        b.input_rounding = b.nearby;
    }
    for (std::uint64_t which = 0; which < 3; ++which)
        s.at_perturbed_inputs(which, a_few_units, [&] {
            fill_backward(s, jacobians, &Block::nearby);
            for (Block& b : jacobians.blocks)
                for (std::size_t k = 0; k < b.input_rounding.size(); ++k)
                    b.input_rounding[k] = std::max(b.input_rounding[k], std::abs(b.nearby[k] - b.analytic[k]));
        });
}

} // namespace chalkgrad::detail
