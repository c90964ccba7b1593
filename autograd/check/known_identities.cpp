// Declared identities: what a caller knows of the Jacobian must hold of the backward.
#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

/// Element `row` of J direction, which is element i of output y.
double known_product_at(CheckedProgram& s, const Identity& known, std::size_t y, std::size_t i, std::size_t row) {
    if (known.degree) return *known.degree * s.program.values(s.output_lines[y])[i];
    return known.product.size() == 0 ? 0 : known.product.data()[known.product.size() == 1 ? 0 : row];
}

/// J direction − product by row of all outputs, from one of the matrices; 0 where rounding leaves as much. `terms` becomes the largest
/// Σ|terms| of a row.
std::vector<double> product_gap(CheckedProgram& s, const Jacobians& jacobians, const Identity& known, std::size_t x,
    Matrix Block::*matrix, double& terms) {
    std::vector<double> gaps;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Block& b = jacobians.block(y, x);
        const double* direction = known.degree ? s.program.values(s.inputs[x].line()) : known.direction.data();
        double longest = 0;
        for (std::size_t j = 0; j < b.columns; ++j) longest = std::max(longest, std::abs(direction[j]));
        const double loss = longest * s.loss(y, x, std::numeric_limits<double>::epsilon());
        for (std::size_t i = 0; i < b.rows; ++i) {
            Gap<long double> sum;
            sum.add(-known_product_at(s, known, y, i, gaps.size()));
            b.each_of_row(i, [&](std::size_t j, std::size_t k) { sum.add((b.*matrix)[k] * direction[j]); });
            if (std::isfinite(sum.terms)) terms = std::max(terms, sum.terms);
            const double gap = static_cast<double>(sum.gap);
            gaps.push_back(std::isfinite(gap) && std::abs(gap) > loss ? gap : 0);
        }
    }
    return gaps;
}

void check_product(CheckedProgram& s, Jacobians& jacobians, const Identity& known, std::size_t x, Findings& found) {
    double terms = 0, ignored = 0;
    std::vector<double> gaps = product_gap(s, jacobians, known, x, &Block::analytic, terms);
    const auto most = [&] { return largest_of(gaps); };
    if (!(std::abs(gaps[most()]) <= s.options.identity_tolerance * terms))
        drop_rounding(s, jacobians, gaps, [&] { return product_gap(s, jacobians, known, x, &Block::nearby, ignored); });
    const double gap = std::abs(gaps[most()]);
    found.report.identity = std::max(*found.report.identity, terms > 0 ? gap / terms : 0);
    if (gap > s.options.identity_tolerance * terms)
        found.break_contract(
            fmt::format("the backward breaks what is known of {}: {}; at output element {} it is off by {:.3g}",
                known.input, known.says, most(), gaps[most()]));
}

void check_zeros(
    const CheckedProgram& s, const Jacobians& jacobians, const Identity& known, std::size_t x, Findings& found) {
    std::size_t row = 0;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const Block& b = jacobians.block(y, x);
        for (std::size_t i = 0; i < b.rows; ++i, ++row)
            for (std::size_t n = 0; n < b.spans[i].count; ++n) {
                const std::size_t j = b.spans[i].first + n;
                const double a = b.analytic[b.spans[i].at + n];
                if (a == 0 || !known.zero(row, j)) continue;
                const auto largest = std::max_element(
                    b.analytic.begin(), b.analytic.end(), [](double p, double q) { return std::abs(p) < std::abs(q); });
                found.report.identity = std::max(*found.report.identity, std::abs(a) / std::abs(*largest));
                found.break_contract(fmt::format(
                    "the backward breaks what is known of {}: {}; but d {}[{}] / d {}[{}] is {:.6g}", known.input,
                    known.says, describe(s.outputs[y]), fmt::join(multi_index(i, s.outputs[y].shape()), ", "),
                    known.input, fmt::join(multi_index(j, s.inputs[x].shape()), ", "), a));
                return;
            }
    }
}

} // namespace

std::size_t input_of(const CheckedProgram& s, const Identity& known) {
    const auto input =
        std::find_if(s.inputs.begin(), s.inputs.end(), [&](const Var<double>& x) { return x.name() == known.input; });
    if (input == s.inputs.end())
        throw Error(
            fmt::format("gradcheck: the identity \"{}\" is about an input '{}', which is not among those checked",
                known.says, known.input));
    if (!known.zero && !known.degree &&
        (known.direction.size() != input->size() || (known.product.size() > 1 && known.product.size() != s.rows)))
        throw Error(
            fmt::format("gradcheck: the identity \"{}\" has a direction of {} and a product of {} numbers; '{}' has "
                        "{}, the output {}",
                known.says, known.direction.size(), known.product.size(), known.input, input->size(), s.rows));
    return static_cast<std::size_t>(input - s.inputs.begin());
}

Findings check_identities(CheckedProgram& s, Jacobians& jacobians) {
    Findings found;
    for (const Identity& known : s.options.identities) {
        const std::size_t x = input_of(s, known);
        found.report.identity = found.report.identity.value_or(0);
        if (known.zero) check_zeros(s, jacobians, known, x, found);
        else check_product(s, jacobians, known, x, found);
    }
    return found;
}

// For random cotangents ⟨Jᵀw, d⟩ = ⟨w, J d⟩, and of some output elements all zeros.
std::optional<double> identities_along_cotangents(CheckedProgram& s, Generator& rng) {
    double worst = 0;
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
                        if (g[j] != 0 && known.zero(first + i, j)) return {};
                }
                continue;
            }
            const Array<double> w = draw_cotangent(s.outputs[y], rng);
            s.program.backward(s.output_lines[y], w.data());
            const double* g = s.program.gradient(input.line());
            const double* direction = known.degree ? input.data() : known.direction.data();
            double weight = 0;
            Gap<double> sides;
            for (std::size_t i = 0; i < rows; ++i) {
                weight += std::abs(w.data()[i]);
                if (w.data()[i] != 0) sides.add(-w.data()[i] * known_product_at(s, known, y, i, first + i));
            }
            for (std::size_t j = 0; g != nullptr && j < input.size(); ++j) sides.add(g[j] * direction[j]);
            const auto [gap, terms] = sides;
            const double loss = weight * s.loss(y, x, std::numeric_limits<double>::epsilon());
            if (!(std::abs(gap) <= s.options.identity_tolerance * terms + loss)) return {};
            if (terms > 0) worst = std::max(worst, std::abs(gap) / terms);
        }
    }
    return worst;
}

} // namespace chalkgrad::detail
