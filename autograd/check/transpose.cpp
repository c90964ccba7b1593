// The transpose identity, of whole Jacobians and along a few random directions instead of them.
#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

using DualNumber = Dual<double>;

/// ⟨w, Jv⟩ − ⟨Jᵀw, v⟩ of one output.
Gap<double> transpose_gap(CheckedProgram& s, Replay<DualNumber>& program, std::size_t y, const Array<double>& w,
    const std::vector<Array<double>>& v) {
    set_tangents(s, program, v);
    s.program.backward(s.output_lines[y], w.data());
    Gap<double> result;
    for (std::size_t i = 0; i < w.size(); ++i)
        if (w.data()[i] != 0) result.add(w.data()[i] * program.values(s.output_lines[y])[i].d);
    for (std::size_t x = 0; x < s.inputs.size(); ++x)
        if (const double* g = s.program.gradient(s.inputs[x].line()))
            for (std::size_t j = 0; j < s.inputs[x].size(); ++j) result.add(-g[j] * v[x].data()[j]);
    return result;
}

/// What rounding in Jᵀw changes of ⟨Jᵀw, v⟩: ten times what long double gets better there, as far as it is small enough to be
/// rounding.
double lost_by_rounding(CheckedProgram& s, std::size_t y, const Array<double>& w, const std::vector<Array<double>>& v) {
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

/// J v for output y where s.program stands, by dual numbers or by differences in double; v is in proportion to the inputs.
Column slopes_along(CheckedProgram& s, std::size_t y, const std::vector<Array<double>>& v) {
    const std::size_t line = s.output_lines[y];
    if (s.has_dual) {
        Column column;
        Replay<DualNumber> program(s.outputs);
        set_tangents(s, program, v);
        for (std::size_t i = 0; i < s.outputs[y].size(); ++i) column.slope.push_back(program.values(line)[i].d);
        column.error.resize(column.slope.size(), 0);
        return column;
    }
    Replay<double> program(s.outputs);
    std::vector<Move> moves;
    double length = 1;
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const std::size_t leaf = s.inputs[x].line();
        std::copy_n(s.program.values(leaf), s.inputs[x].size(), program.values(leaf));
        for (std::size_t j = 0; j < v[x].size(); ++j) {
            moves.push_back({leaf, j, v[x].data()[j]});
            length = std::min(length, s.shortest(x) / std::abs(program.values(leaf)[j]));
        }
    }
    Differences<double> differences(program, {line});
    Column column = differences.along(moves, s.lines, {0.1 * length});
    const Column shorter = differences.along(moves, s.lines, {3e-3 * length});
    for (std::size_t i = 0; i < column.slope.size(); ++i) {
        const double apart = std::abs(column.slope[i] - shorter.slope[i]);
        column.error[i] = std::isnan(apart) ? HUGE_VAL : std::max(column.error[i], apart);
    }
    return column;
}

} // namespace

Findings check_transpose(CheckedProgram& s, const Jacobians& jacobians) {
    Findings found;
    Generator rng = s.stream(0);
    Replay<DualNumber> program(s.outputs);
    std::vector<Array<double>> v = draw(s.inputs, rng);
    for (const Block& b : jacobians.blocks)
        for (std::size_t j = 0; j < b.columns; ++j)
            if (b.on_kink[j]) v[b.input].data()[j] = 0;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Array<double> w = draw_cotangent(s.outputs[y], rng);
        double magnitude = 0, rounding = 0;
        for (std::size_t x = 0; x < s.inputs.size(); ++x) {
            const Block& b = jacobians.block(y, x);
            // The last digits of y; and slopes that are smaller than those of numbers of size 1 are lost in dual numbers.
            const double digits = 4 * std::numeric_limits<double>::epsilon() / s.shortest(x),
                         size = CheckedProgram::size_of(s.outputs[y]);
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
            found.report.transpose = std::numeric_limits<double>::quiet_NaN();
            continue;
        }
        if (size <= s.options.identity_tolerance * magnitude) {
            if (size != 0) found.report.transpose = std::max(found.report.transpose, size / magnitude);
            continue;
        }
        // A mistake stays what it is in long double, and when the inputs are rounded otherwise; rounding errors do not.
        bool rounded = size <= rounding || size <= rounding + lost_by_rounding(s, y, w, v);
        for (std::uint64_t which = 0; which < 3 && !rounded; ++which)
            s.at_perturbed_inputs(which, a_few_units,
                [&] { rounded = std::abs(transpose_gap(s, program, y, w, v).gap - broken) > 0.1 * size; });
        if (rounded) found.below_noise = true;
        else found.report.transpose = std::max(found.report.transpose, magnitude > 0 ? size / magnitude : HUGE_VAL);
    }
    return found;
}

std::optional<std::size_t> disagreeing_output(CheckedProgram& s, Generator& rng) {
    for (std::size_t y = 0; y < s.outputs.size() && s.all_finite(); ++y) {
        const Array<double> w = draw_cotangent(s.outputs[y], rng);
        std::vector<Array<double>> v = draw(s.inputs, rng);
        for (std::size_t x = 0; x < v.size(); ++x) // in proportion: small numbers may lie beside the end of a domain
            for (std::size_t j = 0; j < v[x].size(); ++j) v[x].data()[j] *= s.program.values(s.inputs[x].line())[j];
        const Column column = slopes_along(s, y, v);
        const std::vector<double> gradient = gradients_of(s, s.program, y, w);
        Gap<double> gap;
        double weight = 0, slack = 0;
        for (std::size_t i = 0; i < w.size(); ++i) {
            gap.add(w.data()[i] * column.slope[i]);
            weight += std::abs(w.data()[i]);
            slack += 10 * std::abs(w.data()[i]) * column.error[i];
        }
        for (std::size_t x = 0, k = 0; x < s.inputs.size(); ++x)
            for (const double direction : v[x]) {
                gap.add(-gradient[k++] * direction);
                slack += std::abs(direction) * weight * s.loss(y, x, std::numeric_limits<double>::epsilon());
            }
        if (!column.both_sides && std::abs(gap.gap) > slack + 1e-6 * gap.terms) return y;
    }
    return {};
}

Findings check_elsewhere(CheckedProgram& s) {
    Findings found;
    // Further inwards, where most domains hold, and off the kinks.
    Generator rng = s.stream(17);
    std::vector<Array<double>> point;
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        point.push_back(s.inputs[x].value());
        for (double& number : point[x])
            number = number == 0 ? rng.uniform(0.05, 0.1) * s.shortest(x) : number * rng.uniform(0.7, 0.9);
    }
    s.at_point(point, [&] {
        const std::optional<std::size_t> y = disagreeing_output(s, rng);
        if (!y || !disagreeing_output(s, rng)) return; // not along one direction by chance
        found.break_contract(
            fmt::format("at another point, a fifth closer to 0, the backward of {} is wrong: it keeps numbers of an "
                        "earlier call, or is right on this branch only",
                describe(s.outputs[*y])));
        found.elsewhere = point;
    });
    s.restore();
    return found;
}

std::pair<Findings, bool> check_along_directions(CheckedProgram& s) {
    Findings found;
    constexpr std::uint64_t directions = 4;
    Replay<DualNumber> dual(s.outputs);
    Replay<long double> program(s.outputs);
    Differences<long double> differences(program, s.output_lines);
    for (std::uint64_t which = 0; which < directions; ++which) {
        Generator rng = s.stream(4, which);
        std::vector<Array<double>> v = draw(s.inputs, rng);
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
            const Gap<double> gap = transpose_gap(s, dual, y, w, v);
            if (!std::isfinite(gap.gap)) return {found, false};
            if (gap.terms > 0) found.report.transpose = std::max(found.report.transpose, std::abs(gap.gap) / gap.terms);
            double scale = 0, worst = 0;
            for (std::size_t i = 0; i < s.outputs[y].size(); ++i, ++row) {
                const double exact = dual.values(s.output_lines[y])[i].d;
                if (w.data()[i] == 0 || column.both_sides) continue;
                scale = std::max(scale, std::abs(exact));
                worst = std::max(worst, std::abs(exact - column.slope[row]));
                found.report.resolution =
                    std::max(found.report.resolution, column.error[row] / std::max(std::abs(exact), 1e-300));
            }
            if (scale > 0) found.report.difference = std::max(found.report.difference, worst / scale);
            found.report.elements += s.outputs[y].size();
        }
    }
    found.report.projected = true;
    Generator rng = s.stream(11);
    const std::optional<double> identities = identities_along_cotangents(s, rng);
    if (identities && !s.options.identities.empty()) found.report.identity = *identities;
    const bool agree = identities && found.report.difference <= s.options.tolerance &&
                       found.report.transpose <= s.options.identity_tolerance;
    return {std::move(found), agree};
}

} // namespace chalkgrad::detail
