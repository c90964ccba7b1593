// The Jacobian as the backward, dual numbers and differences see it; columns of one colour share a run.
#include <map>

#include <chalkgrad/autograd/check/colouring.hpp>
#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

/// What the backward says of the columns of one input, by row of all outputs.
class Backward {
public:
    Backward(const CheckedProgram& s, Jacobians& jacobians, std::size_t x)
        : jacobians_(jacobians),
          x_(x),
          judges_each_(!s.has_dual),
          expected_{std::vector<double>(s.rows), std::vector<double>(s.rows), 0.1 * s.options.tolerance} {
        for (std::size_t y = 0; y < s.outputs.size(); ++y) {
            const Block& b = jacobians.block(y, x);
            sizes_.emplace_back(b, b.analytic);
        }
    }
    /// When a colour moves together, each column at its weight; good until the next call.
    const Expected& of(const ColumnColour& colour, const std::vector<double>& weights) {
        each_row(jacobians_, x_, [&](Block& b, std::size_t i, std::size_t row) {
            const std::size_t j = colour.columns.size() == 1 ? colour.columns[0] : colour.owner[row];
            const bool depends = j != nobody && b.spans[i].holds(j);
            expected_.slope[row] = depends ? weights[j] * b.analytic[b.spans[i][j]] : 0;
            // Where there are dual numbers, these judge the small ones.
            expected_.size[row] = judges_each_ && depends ? sizes_[b.output].of(i, j) : sizes_[b.output].largest();
        });
        return expected_;
    }

private:
    Jacobians& jacobians_;
    const std::size_t x_;
    const bool judges_each_;
    std::vector<Sizes> sizes_; ///< by output
    Expected expected_;
};

/// Whether a shared run gives slopes as expected: then each belongs to the owner of its row.
bool believable(const Expected& expected, const Column& column) {
    for (std::size_t row = 0; row < column.slope.size(); ++row)
        if (!(std::abs(column.slope[row] - expected.slope[row]) <=
                expected.tolerance * expected.size[row] + column.error[row]))
            return false;
    return !column.both_sides;
}

// At a kink the value must lie between the slopes on both sides.
void note_kink(const CheckedProgram& s, Measured& measured, const Block& b, std::size_t i, std::size_t j,
    const Column& column, std::size_t row) {
    const Slopes &left = column.both_sides->first, &right = column.both_sides->second;
    const Var<double>&x = s.inputs[b.input], &y = s.outputs[b.output];
    const double l = left.slope[row], r = right.slope[row], a = b.analytic[b.spans[i][j]];
    const double slack = s.options.tolerance * std::max(std::abs(l), std::abs(r)) +
                         10 * (left.error[row] + right.error[row]) + b.rounding[i];
    if (std::abs(l - r) <= slack && std::abs(a - l) <= slack) return; // smooth along this output
    measured.bends[row] |= l < r ? 1 : 2;
    measured.found.report.kinks.push_back({describe(x), multi_index(j, x.shape()), multi_index(i, y.shape()), l, r, a,
        (a - l) / (r - l), column.declared});
    if (a < std::min(l, r) - slack || a > std::max(l, r) + slack)
        measured.outside.push_back(fmt::format(
            "on a kink of {}[{}] the backward gives {:.6g}, outside the slopes {:.6g} (left) and {:.6g} (right)",
            describe(x), fmt::join(multi_index(j, x.shape()), ", "), a, l, r));
}

/// Where an oracle puts its slopes, and how far they may be off.
struct Place {
    Matrix Block::*slope;
    Matrix Block::*error = nullptr;
};

/// The numbers of a column that moved alone; false where an output depends on it outside its span.
bool put_single(const CheckedProgram& s, Measured& measured, std::size_t x, std::size_t j, const Column& column,
    const Expected& expected, Place place) {
    bool holds = true;
    each_row(measured.jacobians, x, [&](Block& b, std::size_t i, std::size_t row) {
        if (!b.spans[i].holds(j)) {
            const auto is_zero = [&](const Slopes& slopes) {
                return std::abs(slopes.slope[row]) <=
                       expected.tolerance * expected.size[row] + slopes.error[row] + b.rounding[i];
            };
            holds = holds && is_zero(column) &&
                    (!column.both_sides || (is_zero(column.both_sides->first) && is_zero(column.both_sides->second)));
            return;
        }
        const std::size_t at = b.spans[i][j];
        (b.*place.slope)[at] = column.slope[row];
        if (place.error != nullptr) (b.*place.error)[at] = column.error[row];
        if (!column.both_sides) return;
        b.on_kink[j] = column.declared ? 1 : 2;
        note_kink(s, measured, b, i, j, column, row);
    });
    return holds;
}

/// The columns of input x as an oracle sees them: along(columns, weights, expected, column) moves some of them together. Those of one
/// colour share a run for each of the draws of weights; where one of these gives other slopes than the backward, each runs alone.
/// False where the structure does not hold.
template <class Along>
bool fill_columns(const CheckedProgram& s, Measured& measured, std::size_t x, std::vector<std::uint64_t> draws,
    Place place, Along along) {
    Jacobians& jacobians = measured.jacobians;
    Backward backward(s, jacobians, x);
    std::vector<double> weights(s.inputs[x].size());
    Column column;
    for (const ColumnColour& colour : colour_columns(jacobians, x)) {
        bool shared = colour.columns.size() > 1;
        for (std::size_t n = 0; n < draws.size() && shared; ++n) {
            for (const std::size_t j : colour.columns) weights[j] = weight_of(j, draws[n]);
            const Expected& expected = backward.of(colour, weights);
            along(colour.columns, weights, expected, column);
            shared = believable(expected, column);
        }
        if (shared) {
            each_row(jacobians, x, [&](Block& b, std::size_t i, std::size_t row) {
                const std::uint32_t j = colour.owner[row];
                if (j == nobody) return;
                (b.*place.slope)[b.spans[i][j]] = column.slope[row] / weights[j];
                if (place.error != nullptr) (b.*place.error)[b.spans[i][j]] = column.error[row];
            });
            continue;
        }
        for (const std::size_t j : colour.columns) {
            const ColumnColour alone{{j}, {}};
            weights[j] = 1;
            const Expected& expected = backward.of(alone, weights);
            along(alone.columns, weights, expected, column);
            if (!put_single(s, measured, x, j, column, expected, place)) return false;
        }
    }
    return true;
}

/// What rounding may change of a slope in double, and of one in differences whose unit is epsilon. Inside the forward, numbers of the
/// size of x / length are rounded, and weigh what is as large as y: slopes below that, over a step of a thousandth of the length, are not
/// seen. Rows that depend on the same inputs are taken together.
void set_rounding(const CheckedProgram& s, Block& b, double epsilon) {
    const double length = s.shortest(b.input);
    const double *x = s.inputs[b.input].data(), *y = s.outputs[b.output].data();
    std::map<std::pair<std::size_t, std::size_t>, double> largest; // output, by span
    for (std::size_t i = 0; i < b.rows; ++i) {
        double& size = largest[{b.spans[i].first, b.spans[i].count}];
        if (std::isfinite(y[i])) size = std::max(size, std::abs(y[i]));
    }
    std::map<std::pair<std::size_t, std::size_t>, double> rounding;
    for (const auto& [span, size] : largest) {
        double reach = length;
        for (std::size_t j = span.first; j < span.first + span.second; ++j)
            if (std::isfinite(x[j])) reach = std::max(reach, std::abs(x[j]));
        rounding[span] = 4 * std::numeric_limits<double>::epsilon() * size / length +
                         16 * epsilon * reach / length / (1e-3 * length) * std::max(1.0, size);
    }
    for (std::size_t i = 0; i < b.rows; ++i) b.rounding[i] = rounding[{b.spans[i].first, b.spans[i].count}];
}

/// By differences in U.
template <class U> bool fill_differences(const CheckedProgram& s, Measured& measured) {
    Replay<U> program(s.outputs);
    Differences<U> differences(program, s.output_lines, s.options.quick);
    const bool confirms = !s.options.quick && std::is_same_v<U, long double>;
    const std::uint64_t draw = 3 * s.options.seed;
    std::vector<Move> direction;
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        for (std::size_t y = 0; y < s.outputs.size(); ++y)
            set_rounding(s, measured.jacobians.block(y, x), static_cast<double>(std::numeric_limits<U>::epsilon()));
        const auto along = [&](const std::vector<std::size_t>& columns, const std::vector<double>& weights,
                               const Expected& expected, Column& column) {
            direction.clear();
            for (const std::size_t j : columns) direction.push_back({s.inputs[x].line(), j, weights[j]});
            column = differences.along(direction, s.dependents[x], s.lengths[x], confirms ? &expected : nullptr);
        };
        // Dual numbers have taken one draw already.
        const std::vector<std::uint64_t> draws =
            s.has_dual ? std::vector<std::uint64_t>{draw + 1} : std::vector<std::uint64_t>{draw + 1, draw + 2};
        if (!fill_columns(s, measured, x, draws, {&Block::numeric, &Block::error}, along)) return false;
    }
    return true;
}

/// Exact columns: forwards in dual numbers.
bool fill_dual(const CheckedProgram& s, Measured& measured) {
    Replay<Dual<double>> program(s.outputs);
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        Dual<double>* numbers = program.values(s.inputs[x].line());
        const auto along = [&](const std::vector<std::size_t>& columns, const std::vector<double>& weights,
                               const Expected&, Column& column) {
            for (const std::size_t j : columns) numbers[j].d = weights[j];
            program.run(s.dependents[x]);
            for (const std::size_t j : columns) numbers[j].d = 0;
            column.slope.resize(s.rows);
            column.error.resize(s.rows, 0);
            each_row(measured.jacobians, x, [&](Block& b, std::size_t i, std::size_t row) {
                column.slope[row] = program.values(s.output_lines[b.output])[i].d;
            });
        };
        if (!fill_columns(s, measured, x, {3 * s.options.seed}, {&Block::dual}, along)) return false;
        program.run(s.dependents[x]);
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

} // namespace

void fill_backward(CheckedProgram& s, Jacobians& jacobians, Matrix Block::*matrix) {
    each_sweep(s, jacobians, s.program,
        [&](Block& b, const Span& span, const double* g) { std::copy_n(g, span.count, (b.*matrix).data() + span.at); });
}

std::optional<Measured> measure_jacobians(CheckedProgram& s, const Structure& structure) {
    Measured measured{Jacobians(s, structure), {}, std::vector<char>(s.rows, 0), {}};
    fill_backward(s, measured.jacobians, &Block::analytic);
    if (s.has_dual && !fill_dual(s, measured)) return {};
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
        bool found = false;
        for (const Block& b : jacobians.blocks) {
            const Sizes sizes(b, b.numeric);
            b.each([&](std::size_t i, std::size_t j, std::size_t k) {
                found |= !b.on_kink[j] && b.is_wrong(i, k, sizes.of(i, j), s.options.tolerance);
            });
        }
        return found;
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
