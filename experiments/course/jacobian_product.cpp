// Course §§4–6: the Jacobian ∂h_L/∂h_0 of a deep stack of linear blocks, its singular values by the place of the norm.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::jacobian_product_experiment {

constexpr std::size_t d = 64;
constexpr std::size_t depths[] = {1, 6, 12, 24, 48};

X step(std::optional<Placement> placement, const X& h, const Array<double>& w) {
    const auto f = [&](const X& x) { return matmul(h.tape().constant(w), x); };
    return residual_step(placement, h, f, [](const X& x, int) { return rms_norm_floor(x); });
}

/// Singular values of ∂h_L/∂h_0 and of block L's own Jacobian, largest first.
struct Spectra {
    std::vector<double> product, block;
};

/// At each of the depths L.
std::vector<Spectra> spectra(
    std::optional<Placement> placement, const Array<double>& h0, const std::vector<Array<double>>& w) {
    Tape tape;
    const X first = tape.variable(h0, "h0");
    X h = first;
    std::vector<Spectra> found;
    for (std::size_t l = 0; l < w.size(); ++l) {
        const Array<double> before = h.value();
        h = step(placement, h, w[l]);
        if (std::ranges::count(depths, l + 1) == 0) continue;
        const Array<double> block = jacobian([&](const X& x) { return step(placement, x, w[l]); }, before);
        found.push_back({singular_values(jacobian(h, first)), singular_values(block)});
    }
    return found;
}

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(21);
    const Array<double> h0 = rng.standard_normal({d});
    const std::vector<Array<double>> w = random_matrices(rng, 48, d);
    const std::optional<Placement> placements[] = {{}, Placement::pre, Placement::post, Placement::peri};
    std::vector<Spectra> found[4];
    parallel_for(4, [&](std::size_t i) { found[i] = spectra(placements[i], h0, w); });

    Plot& largest = report.plot({"largest", "Largest singular value of ∂h_L/∂h_0", {"depth L", true}, {"σ_max", true}});
    Plot& spectrum = report.plot({"spectrum", "All singular values after 48 blocks", {"rank"}, {"σ", true}});
    for (std::size_t p = 0; p < 4; ++p) {
        const std::string name = placement_name(placements[p]);
        for (std::size_t i = 0; i < std::size(depths); ++i) {
            const std::vector<double>&product = found[p][i].product, &block = found[p][i].block;
            const std::string row = fmt::format("{}, depth {}", name, depths[i]);
            // Rounding moves every singular value by about 1e-16 σ_max: the small ones have fewer digits, or none.
            const auto check = [&](const char* column, double value, double most) {
                if (value > 1e-10 * most) judge(report, row, absolute(1e-9 * value + 1e-15 * most), {{column, value}});
                else report.measured(row + ": " + column, value, "below 1e-10 of the largest: rounding decides");
            };
            check("largest singular value", product.front(), product.front());
            check("second smallest", product[d - 2], product.front());
            check("smallest", product.back(), product.front());
            check("root mean square", norm(product) / std::sqrt(d), product.front());
            check("largest of the last block", block.front(), block.front());
            check("smallest of the last block", block.back(), block.front());
            largest.at(name).add(double(depths[i]), product.front());
        }
        if (name == "post")
            report.measured("post: smallest over largest singular value of block 1",
                found[p][0].block.back() / found[p][0].block.front(),
                "0 in exact arithmetic: a Post block ends in a norm, which lets nothing pass along its output");
        if (name == "pre")
            report.measured("pre: smallest singular value of block 48", found[p].back().block.back(),
                "late Pre blocks come close to the identity, as the stream outgrows each update");
        spectrum.series.push_back({name, iota(1, d), found[p].back().product, Mark::line_points});
    }
}

} // namespace chalkgrad::jacobian_product_experiment
