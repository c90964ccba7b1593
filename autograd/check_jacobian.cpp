// The Jacobian as the backward, dual numbers and differences see it. Columns whose outputs do not overlap share a run.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/check_subject.hpp>

namespace chalkgrad::detail {
namespace {

constexpr std::size_t nobody = static_cast<std::size_t>(-1);

/// Columns of one input that no output sees two of.
struct Group {
    std::vector<std::size_t> columns;
    std::vector<std::size_t> owner;  ///< by row of all outputs: its column, or nobody
};

/// How fast a column moves in a shared run. Were it the same for all, slopes could cancel: those of a softmax add up to
/// 0. Twenty bits, so that no digit is lost when a step is added to an input.
double weight_of(std::size_t column) {
    return 1 + static_cast<double>((column + 1) * 0x9E3779B97F4A7C15u >> 44) * 0x1p-20;
}

/// First fit by the zeros of the backward's Jacobian. Those may be wrong, so what a shared run gives is believed only
/// where it agrees with them.
std::vector<Group> groups_of(Subject& s, std::size_t x) {
    std::vector<std::vector<std::size_t>> reached(s.inputs[x].size());  // rows, by column
    std::size_t row = 0;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Block& b = s.block(y, x);
        for (std::size_t i = 0; i < b.rows; ++i, ++row)
            for (std::size_t j = 0; j < b.columns; ++j)
                if (b.at(b.analytic, i)[j] != 0) reached[j].push_back(row);
    }
    std::vector<Group> groups;
    for (std::size_t j = 0; j < reached.size(); ++j) {
        const auto free = [&](const Group& g) {
            return std::all_of(reached[j].begin(), reached[j].end(),
                               [&](std::size_t r) { return g.owner[r] == nobody; });
        };
        auto group = std::find_if(groups.begin(), groups.end(), free);
        if (group == groups.end()) group = groups.insert(group, Group{{}, std::vector<std::size_t>(s.rows, nobody)});
        group->columns.push_back(j);
        for (const std::size_t r : reached[j]) group->owner[r] = j;
    }
    return groups;
}

/// The size of the largest element, to judge others by.
double scale_of(const std::vector<double>& numbers) {
    double scale = 0;
    for (const double v : numbers)
        if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    return scale;
}

/// Calls f(block, row in the block, row of all outputs) for every output element.
template <class F>
void each_row(Subject& s, std::size_t x, F f) {
    std::size_t row = 0;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        Block& b = s.block(y, x);
        for (std::size_t i = 0; i < b.rows; ++i, ++row) f(b, i, row);
    }
}

/// Of the backward's Jacobian by input x, for each output.
std::vector<double> scales_of(Subject& s, std::size_t x) {
    std::vector<double> scales;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) scales.push_back(scale_of(s.block(y, x).analytic));
    return scales;
}

/// What the backward says that the columns of a group give when they move together.
Expected expected_of(Subject& s, std::size_t x, const Group& group, const std::vector<double>& scales) {
    Expected expected{std::vector<double>(s.rows), std::vector<double>(s.rows), 0.1 * s.options.tolerance};
    const bool alone = group.columns.size() == 1;
    each_row(s, x, [&](Block& b, std::size_t i, std::size_t row) {
        const std::size_t j = alone ? group.columns[0] : group.owner[row];
        expected.slope[row] = j == nobody ? 0 : (alone ? 1 : weight_of(j)) * b.at(b.analytic, i)[j];
        expected.size[row] = scales[b.output];
    });
    return expected;
}

/// Whether a shared run gives slopes as expected: then each belongs to the owner of its row.
bool believable(const Expected& expected, const std::vector<double>& slopes, const std::vector<double>& slack) {
    for (std::size_t row = 0; row < slopes.size(); ++row)
        if (!(std::abs(slopes[row] - expected.slope[row]) <= expected.tolerance * expected.size[row] + slack[row])) return false;
    return true;
}

// At a kink the value must lie between the slopes on both sides.
void note_kink(Subject& s, const Block& b, std::size_t i, std::size_t j, const Column& column, std::size_t row) {
    const Slopes &left = column.both_sides->first, &right = column.both_sides->second;
    const Var<double>&x = s.inputs[b.input], &y = s.outputs[b.output];
    const double l = left.slope[row], r = right.slope[row], a = b.analytic[i * b.columns + j];
    const double slack = s.options.tolerance * std::max(std::abs(l), std::abs(r)) +
                         10 * (left.error[row] + right.error[row]) + b.rounding;
    if (std::abs(l - r) <= slack && std::abs(a - l) <= slack) return;  // smooth along this output
    const bool between = a >= std::min(l, r) - slack && a <= std::max(l, r) + slack;
    s.report.kinks.push_back({describe(x), multi_index(j, x.shape()), multi_index(i, y.shape()), l, r, a,
                              (a - l) / (r - l), column.declared});
    if (between) return;
    ++s.report.failed;
    s.say(fmt::format(
        "on a kink of {}[{}] the backward gives {:.6g}, outside the slopes {:.6g} (left) and {:.6g} (right)",
        describe(x), fmt::join(multi_index(j, x.shape()), ", "), a, l, r));
}

void put_single(Subject& s, std::size_t x, std::size_t j, const Column& column) {
    each_row(s, x, [&](Block& b, std::size_t i, std::size_t row) {
        b.at(b.numeric, i)[j] = column.slope[row];
        b.at(b.error, i)[j] = column.error[row];
        if (!column.both_sides) return;
        b.on_kink[j] = column.declared ? 1 : 2;
        note_kink(s, b, i, j, column, row);
    });
}

template <class U>
void fill_differences_in(Subject& s) {
    Replay<U> program(s.outputs);
    Differences<U> differences(program, s.output_lines, s.options.quick);
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const std::size_t line = s.inputs[x].line();
        const double shortest = s.shortest(x);
        // Inside the forward, numbers of the size of x / length are rounded, and weigh what is as large as y: slopes below
        // that, over a step of a thousandth of the length, are not seen.
        const double unseen = 16 * static_cast<double>(std::numeric_limits<U>::epsilon()) *
                              std::max(1.0, Subject::size_of(s.inputs[x]) / shortest) / (1e-3 * shortest);
        for (std::size_t y = 0; y < s.outputs.size(); ++y) {
            const double size = Subject::size_of(s.outputs[y]);
            s.block(y, x).rounding =
                4 * std::numeric_limits<double>::epsilon() * size / shortest + unseen * std::max(1.0, size);
        }
        const std::vector<double> scales = scales_of(s, x);
        const auto along = [&](const Group& group, const Expected& expected) {
            const bool alone = group.columns.size() == 1;
            std::vector<Move> direction;
            for (const std::size_t j : group.columns) direction.push_back({line, j, alone ? 1 : weight_of(j)});
            const bool confirms = !s.options.quick && std::is_same_v<U, long double>;
            return differences.along(direction, s.dependents[x], s.lengths[x], confirms ? &expected : nullptr);
        };
        const auto by_itself = [&](std::size_t j) {
            const Group alone{{j}, {}};
            put_single(s, x, j, along(alone, expected_of(s, x, alone, scales)));
        };
        for (const Group& group : groups_of(s, x)) {
            if (group.columns.size() == 1) {
                by_itself(group.columns[0]);
                continue;
            }
            const Expected expected = expected_of(s, x, group, scales);
            const Column column = along(group, expected);
            if (!column.both_sides && believable(expected, column.slope, column.error)) {
                each_row(s, x, [&](Block& b, std::size_t i, std::size_t row) {
                    const std::size_t j = group.owner[row];
                    if (j == nobody) return;
                    b.at(b.numeric, i)[j] = column.slope[row] / weight_of(j);
                    b.at(b.error, i)[j] = column.error[row];
                });
            } else {
                for (const std::size_t j : group.columns) by_itself(j);
            }
        }
    }
}

}  // namespace

namespace {

/// One sweep for each output element; row(y, i, x, gradient) takes what arrives at input x.
template <class U, class Row>
void each_sweep(Subject& s, Replay<U>& program, Row row) {
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        std::vector<U> cotangent(s.outputs[y].size(), U(0));
        for (std::size_t i = 0; i < cotangent.size(); ++i) {
            cotangent[i] = 1;
            program.backward(s.output_lines[y], cotangent.data());
            cotangent[i] = 0;
            for (std::size_t x = 0; x < s.inputs.size(); ++x)
                if (const U* g = program.gradient(s.inputs[x].line())) row(y, i, x, g);
        }
    }
}

}  // namespace

void fill_backward(Subject& s, std::vector<double> Block::*matrix) {
    each_sweep(s, s.program, [&](std::size_t y, std::size_t i, std::size_t x, const double* g) {
        std::copy_n(g, s.inputs[x].size(), s.block(y, x).at(s.block(y, x).*matrix, i));
    });
}

// A wrong formula is as wrong in long double; what it gets better there was rounding, as far as it is small enough to
// be.
void measure_inexact(Subject& s) {
    if (!s.has_dual || !s.blocks.front().inexact.empty()) return;
    for (Block& b : s.blocks) b.inexact.assign(b.analytic.size(), 0);
    Replay<long double> program(s.outputs);
    each_sweep(s, program, [&](std::size_t y, std::size_t i, std::size_t x, const long double* g) {
        Block& b = s.block(y, x);
        const double loss = s.loss(y, x, std::numeric_limits<double>::epsilon());
        for (std::size_t j = 0; j < b.columns; ++j) {
            const double gap = std::abs(b.at(b.analytic, i)[j] - static_cast<double>(g[j]));
            if (gap <= loss) b.at(b.inexact, i)[j] = 10 * gap;
        }
    });
}

// Exact columns: one forward in dual numbers for each group of input elements.
void fill_dual(Subject& s) {
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
        const std::vector<double> scales = scales_of(s, x);
        for (const Group& group : groups_of(s, x)) {
            run(group.columns);
            if (group.columns.size() == 1 || believable(expected_of(s, x, group, scales), slopes, exactly)) {
                const bool alone = group.columns.size() == 1;
                each_row(s, x, [&](Block& b, std::size_t i, std::size_t row) {
                    const std::size_t j = alone ? group.columns[0] : group.owner[row];
                    if (j != nobody) b.at(b.dual, i)[j] = alone ? slopes[row] : slopes[row] / weight_of(j);
                });
                continue;
            }
            for (const std::size_t j : group.columns) {
                run({j});
                each_row(s, x, [&](Block& b, std::size_t i, std::size_t row) { b.at(b.dual, i)[j] = slopes[row]; });
            }
        }
        program.run(s.dependents[x]);
    }
}

void fill_differences(Subject& s) {
    if (s.has_dual && !s.options.quick)
        fill_differences_in<long double>(s);
    else
        fill_differences_in<double>(s);
}

// A slope that rounding of the inputs changes as much as the disagreement is not known better than that.
void measure_rounding(Subject& s) {
    const auto suspicious = [&] {
        for (const Block& b : s.blocks) {
            const double scale = scale_of(b.numeric);
            for (std::size_t k = 0; k < b.numeric.size(); ++k)
                if (std::abs(b.analytic[k] - b.numeric[k]) > s.options.tolerance * scale + b.slack(k) &&
                    !b.on_kink[k % b.columns])
                    return true;
        }
        return false;
    };
    if (!suspicious()) return;
    measure_inexact(s);
    for (Block& b : s.blocks) {
        b.nearby.assign(b.analytic.size(), 0);
        b.wobble = b.nearby;
    }
    for (std::uint64_t which = 0; which < 3; ++which)
        s.beside(which, a_few_units, [&] {
            fill_backward(s, &Block::nearby);
            for (Block& b : s.blocks)
                for (std::size_t k = 0; k < b.wobble.size(); ++k)
                    b.wobble[k] = std::max(b.wobble[k], std::abs(b.nearby[k] - b.analytic[k]));
        });
}

}  // namespace chalkgrad::detail
