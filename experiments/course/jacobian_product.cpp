// Course §§4–6: the Jacobian ∂h_L/∂h_0 of a deep stack of linear blocks, its singular values by the place of the norm.
#include <chalkgrad/experiments/course/block_stack.hpp>
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/norm/rms_norm_floor.hpp>

namespace chalkgrad::jacobian_product_experiment {
namespace {

using nn::Placement;

constexpr std::size_t d = 64;
constexpr std::size_t depths[] = {1, 6, 12, 24, 48};

X step(std::optional<Placement> placement, const X& h, const Array<double>& w) {
    const auto f = [&](const X& x) { return matmul(h.tape().constant(w), x); };
    const auto norm = [](const X& x, int) { return rms_norm_floor(x); };
    return placement ? nn::residual(*placement, h, f, norm) : h + f(h);
}

struct Spectra {
    std::optional<Placement> placement;
    std::vector<std::vector<double>> product, block; ///< singular values at each depth, largest first
};

void decompose(Spectra& spectra, const Array<double>& h0, const std::vector<Array<double>>& w) {
    Tape tape;
    const X first = tape.variable(h0, "h0");
    X h = first;
    for (std::size_t l = 0; l < w.size(); ++l) {
        const Array<double> before = h.value();
        h = step(spectra.placement, h, w[l]);
        if (std::find(std::begin(depths), std::end(depths), l + 1) == std::end(depths)) continue;
        spectra.product.push_back(singular_values(jacobian(h, first)));
        spectra.block.push_back(
            singular_values(jacobian([&](const X& x) { return step(spectra.placement, x, w[l]); }, before)));
    }
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(21);
    const Array<double> h0 = rng.standard_normal({d});
    const std::vector<Array<double>> w = random_matrices(rng, 48, d);
    std::vector<Spectra> all{
        {std::nullopt, {}, {}}, {Placement::pre, {}, {}}, {Placement::post, {}, {}}, {Placement::peri, {}, {}}};
    parallel_for(all.size(), [&](std::size_t i) { decompose(all[i], h0, w); });

    Plot largest{"largest", "Largest singular value of ∂h_L/∂h_0", {"depth L", true}, {"σ_max", true}, {}};
    Plot spectrum{"spectrum", "All singular values after 48 blocks", {"rank"}, {"σ", true}, {}};
    for (const Spectra& s : all) {
        const char* const name = placement_name(s.placement);
        Series most{name, {}, {}, Mark::line_points};
        for (std::size_t i = 0; i < std::size(depths); ++i) {
            const std::vector<double>&product = s.product[i], &block = s.block[i];
            const std::string row = fmt::format("{}, depth {}", name, depths[i]);
            // Rounding moves every singular value by about 1e-16 σ_max: the small ones have fewer digits, or none.
            const auto check = [&](const char* column, double value, double most) {
                if (value > 1e-10 * most) judge(report, row, absolute(1e-9 * value + 1e-15 * most), {{column, value}});
                else report.measured(row + ": " + column, value, "below 1e-10 of the largest: rounding decides");
            };
            check("largest singular value", product.front(), product.front());
            check("second smallest", product[d - 2], product.front());
            check("smallest", product.back(), product.front());
            check("root mean square",
                std::sqrt(std::inner_product(product.begin(), product.end(), product.begin(), 0.0) / d),
                product.front());
            check("largest of the last block", block.front(), block.front());
            check("smallest of the last block", block.back(), block.front());
            most.add(double(depths[i]), product.front());
        }
        if (s.placement == Placement::post)
            report.measured("post: smallest over largest singular value of block 1",
                s.block.front().back() / s.block.front().front(),
                "0 in exact arithmetic: a Post block ends in a norm, which lets nothing pass along its output");
        if (s.placement == Placement::pre)
            report.measured("pre: smallest singular value of block 48", s.block.back().back(),
                "late Pre blocks come close to the identity, as the stream outgrows each update");
        largest.series.push_back(std::move(most));
        spectrum.series.push_back({name, iota(1, d), s.product.back(), Mark::line_points});
    }
    report.plot(largest);
    report.plot(spectrum);
}

} // namespace chalkgrad::jacobian_product_experiment
