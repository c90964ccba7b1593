// The verdict: every element of the Jacobian against its tolerance, and what the other checks have found.
#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

/// An output element of −inf with a gradient of exactly 0: a masked logarithm, which has no slope to compare.
bool masked(const CheckedProgram& s, const Block& b, std::size_t row) {
    if (s.outputs[b.output].data()[row] != -HUGE_VAL) return false;
    bool all_zero = true;
    b.each_of_row(row, [&](std::size_t, std::size_t k) { all_zero &= b.analytic[k] == 0; });
    return all_zero;
}

JacobianElement worst_of(
    const CheckedProgram& s, const Block& b, std::size_t i, std::size_t j, std::size_t k, double relative) {
    const Var<double>&y = s.outputs[b.output], &x = s.inputs[b.input];
    const Record& record = (*y.state())[static_cast<Index>(y.line())];
    return {record.op != nullptr ? record.op->name() : "leaf", describe(y), describe(x), multi_index(i, y.shape()),
        multi_index(j, x.shape()), b.analytic[k], b.numeric[k], relative, s.options.tolerance};
}

/// The largest numbers of a row, with which most rows are judged; `finite` is 0, or NaN where one of them is not.
struct RowSize {
    double numeric = 0, gap = 0, dual_gap = 0, error = 0, dual = 0, finite = 0;
};
RowSize row_size(const Block& b, const Span& span) {
    const double *a = b.analytic.data() + span.at, *n = b.numeric.data() + span.at, *e = b.error.data() + span.at,
                 *d = b.dual.empty() ? a : b.dual.data() + span.at;
    double numeric = 0, gap = 0, dual_gap = 0, error = 0, dual = 0, finite = 0;
#pragma omp simd reduction(max : numeric, gap, dual_gap, error, dual) reduction(+ : finite)
    for (std::size_t j = 0; j < span.count; ++j) {
        numeric = std::max(numeric, std::abs(n[j]));
        gap = std::max(gap, std::abs(a[j] - n[j]));
        dual_gap = std::max(dual_gap, std::abs(a[j] - d[j]));
        error = std::max(error, e[j]);
        dual = std::max(dual, std::abs(d[j]));
        finite += (a[j] - a[j]) + (n[j] - n[j]) + (d[j] - d[j]) + (e[j] - e[j]);
    }
    return {numeric, gap, dual_gap, error, dual, finite};
}

/// Judges the elements of one block after the other.
struct Judge {
    const CheckedProgram& s;
    Findings& found;
    GradcheckReport& report = found.report;
    double worst_excess = -1;

    void block(const Block& b) {
        const bool smooth = std::none_of(b.on_kink.begin(), b.on_kink.end(), [](char kink) { return kink != 0; });
        std::vector<RowSize> sizes;
        std::vector<char> is_plain; // by row: all its elements are to be judged, and all are finite
        const Sizes judged_by(b, b.numeric);
        double scale = 0, exact_scale = 0, least = HUGE_VAL;
        for (const double size : judged_by.column)
            if (size > 0) least = std::min(least, size);
        for (std::size_t i = 0; i < b.rows; ++i) {
            sizes.push_back(row_size(b, b.spans[i]));
            is_plain.push_back(smooth && sizes[i].finite == 0 && !masked(s, b, i));
            if (is_plain[i]) {
                scale = std::max(scale, sizes[i].numeric);
                exact_scale = std::max(exact_scale, sizes[i].dual);
                continue;
            }
            each_smooth(b, i, [&](std::size_t, std::size_t k) {
                if (std::isfinite(b.numeric[k])) scale = std::max(scale, std::abs(b.numeric[k]));
                if (s.has_dual) exact_scale = std::max(exact_scale, std::abs(b.dual[k]));
            });
        }
        if (!s.has_dual) exact_scale = 0;
        report.elements += b.rows * b.columns;
        for (std::size_t i = 0; i < b.rows; ++i) {
            const RowSize& size = sizes[i];
            const double allowed = s.options.tolerance * std::min(judged_by.row[i], least);
            if (is_plain[i] && b.off.empty() && size.gap <= allowed && (scale == 0 || size.error <= allowed)) {
                row_within(b, i, size, scale, exact_scale);
                continue;
            }
            each_smooth(b, i,
                [&](std::size_t j, std::size_t k) { element(b, i, j, k, judged_by.of(i, j), scale, exact_scale); });
        }
    }

private:
    template <class F> void each_smooth(const Block& b, std::size_t i, F f) {
        if (masked(s, b, i)) return;
        b.each_of_row(i, [&](std::size_t j, std::size_t k) {
            if (!b.on_kink[j]) f(j, k);
        });
    }

    static double relative(double gap, double scale) {
        return gap == 0 ? 0 : gap / std::max(scale, std::numeric_limits<double>::min());
    }

    void row_within(const Block& b, std::size_t i, const RowSize& size, double scale, double exact_scale) {
        const Span& span = b.spans[i];
        if (span.count == 0) return;
        if (exact_scale > 0) report.dual = std::max(report.dual, size.dual_gap / exact_scale);
        if (scale > 0) report.resolution = std::max(report.resolution, size.error / scale);
        const double excess = relative(size.gap, scale);
        report.difference = std::max(report.difference, excess);
        if (!(excess > worst_excess)) return;
        worst_excess = excess;
        std::size_t k = span.at;
        while (std::abs(b.analytic[k] - b.numeric[k]) != size.gap) ++k;
        report.worst = worst_of(s, b, i, span.first + k - span.at, k, excess);
    }

    void element(
        const Block& b, std::size_t i, std::size_t j, std::size_t k, double size, double scale, double exact_scale) {
        const double a = b.analytic[k], n = b.numeric[k], gap = std::abs(a - n);
        if (exact_scale > 0) report.dual = worse(report.dual, std::abs(a - b.dual[k]) / exact_scale);
        // Dual numbers tell what differences do not resolve.
        const double exact = s.has_dual ? std::abs(a - b.dual[k]) : 0;
        const double exactly = s.options.tolerance * std::max(std::abs(a), s.has_dual ? std::abs(b.dual[k]) : 0);
        if (std::isfinite(a) && !std::isfinite(n) && std::isfinite(s.outputs[b.output].data()[i])) {
            if (s.has_dual && exact <= exactly) return;
            report.resolution = HUGE_VAL;
            found.unresolved = true;
            return;
        }
        if (!std::isfinite(a) || !std::isfinite(n)) {
            found.unfinite = true;
            if (std::isfinite(n) && b.error[k] <= s.options.tolerance * scale) { // a smooth point with a wild gradient
                ++report.failed;
                worst_excess = HUGE_VAL;
                report.worst = worst_of(s, b, i, j, k, HUGE_VAL);
            }
            return;
        }
        const double resolution = scale > 0 ? b.error[k] / scale : 0;
        report.resolution = std::max(report.resolution, resolution);
        const bool within = gap <= s.options.tolerance * size, within_block = gap <= s.options.tolerance * scale;
        const bool decided = b.is_wrong(i, k, size, s.options.tolerance);
        if (decided) ++report.failed;
        const bool seen =
            within || a == 0 ||
            (s.has_dual ? exact <= exactly + s.options.identity_tolerance * scale : 10 * b.slack(i, k) <= std::abs(a));
        if (!decided && (!within_block || resolution > s.options.tolerance || !seen))
            found.unresolved |= scale > 0 || gap > 0;
        const double off = relative(decided ? std::max(gap, exact) : gap, decided ? size : scale);
        if (within_block || decided) report.difference = std::max(report.difference, off);
        const double excess = decided ? 1 + off : off;
        if (excess > worst_excess) {
            worst_excess = excess;
            report.worst = worst_of(s, b, i, j, k, off);
        }
    }
};

/// The first number that is not finite, of the inputs or else of the outputs.
void name_unfinite(const CheckedProgram& s, Findings& found) {
    for (const std::vector<Var<double>>* vars : {&s.inputs, &s.outputs})
        for (const Var<double>& x : *vars)
            for (std::size_t j = 0; j < x.size(); ++j)
                if (!std::isfinite(x.data()[j])) {
                    found.say(fmt::format(
                        "{}[{}] is {}", describe(x), fmt::join(multi_index(j, x.shape()), ", "), x.data()[j]));
                    return;
                }
}

/// Whether the outputs stay as they are to the last bit when the inputs move by less than single precision sees, and only then.
bool is_coarse(CheckedProgram& s) {
    const auto outputs_after = [&](double change) {
        std::vector<double> all;
        s.at_perturbed_inputs(12, change, [&] {
            for (std::size_t y = 0; y < s.outputs.size(); ++y)
                all.insert(all.end(), s.program.values(s.output_lines[y]),
                    s.program.values(s.output_lines[y]) + s.outputs[y].size());
        });
        return all;
    };
    const std::vector<double> here = outputs_after(0);
    return here == outputs_after(1e-10) && here != outputs_after(1e-5);
}

} // namespace

Findings judge(CheckedProgram& s, const Jacobians& jacobians) {
    Findings found;
    Judge elements{s, found};
    for (const Block& b : jacobians.blocks) elements.block(b);
    return found;
}

GradcheckReport verdict_of(CheckedProgram& s, Findings found) {
    GradcheckReport& report = found.report;
    const bool broken = s.has_dual && !(report.transpose <= s.options.identity_tolerance),
               no_transpose = broken && std::isfinite(report.transpose);
    const auto coarse = [&] { return !found.contract_broken && !s.has_dual && is_coarse(s); };
    if (found.failed() || no_transpose || (found.unresolved && coarse())) {
        report.verdict = Verdict::fail;
        if (no_transpose && !found.failed())
            found.say(
                fmt::format("the backward is not the transpose of the forward's derivative: ⟨w, Jv⟩ and ⟨Jᵀw, v⟩ "
                            "differ by {:.2g} of Σ|terms|",
                    report.transpose));
        if (coarse()) {
            report.verdict = Verdict::inconclusive;
            found.say(
                "the outputs do not move when the inputs move by 1e-10 of themselves: something in between "
                "computes in single precision, and differences tell nothing; compute in double");
        }
        return report;
    }
    const std::pair<bool, std::string> doubts[] = {
        {found.unfinite || broken, "values or slopes at this point are not finite; choose another point"},
        {found.unresolved,
            std::isfinite(report.resolution)
                ? fmt::format("the differences resolve {:.2g} of a block, coarser than the tolerance {:.2g}; choose a "
                              "point where the output neither saturates nor overflows",
                      report.resolution, s.options.tolerance)
                : "differences of ever smaller steps do not agree: they leave the domain, or the function bends within "
                  "them; choose another point"},
        {found.below_noise,
            "what is left of the gradient at this point is no larger than its rounding errors; choose a "
            "point that does not saturate"},
        {found.nothing_seen, {}}};
    const auto doubt = std::find_if(std::begin(doubts), std::end(doubts), [](const auto& one) { return one.first; });
    if (doubt != std::end(doubts)) report.verdict = Verdict::inconclusive;
    else if (!report.kinks.empty()) report.verdict = Verdict::kink;
    if (doubt != std::end(doubts) && !doubt->second.empty()) found.say(doubt->second);
    if (doubt == std::begin(doubts)) name_unfinite(s, found);
    return report;
}

} // namespace chalkgrad::detail
