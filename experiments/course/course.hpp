// What the experiments of the course are written with: draws, the tape and the ops, placements, measures, reference values,
// the report.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/graph/dot.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/cast.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/parallel.hpp>
#include <chalkgrad/nn/core/init.hpp>
#include <chalkgrad/nn/layers/residual.hpp>
#include <chalkgrad/ops/attention/qk_norm.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/softcap.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/dyisru.hpp>
#include <chalkgrad/ops/norm/dyt.hpp>
#include <chalkgrad/ops/norm/guarded_root.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/cross_entropy.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>
#include <chalkgrad/ops/shape/slice.hpp>
#include <chalkgrad/ops/streams/mhc_mix.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

namespace chalkgrad {

using X = Var<double>; ///< a number, vector or matrix on the tape
using nn::Placement;

/// Cases written as lines of a table: for (const auto& [c, expected] : Rows<double, double>{{1, 0.5}, {10, 0.7}}) …
template <class... Columns> using Rows = std::vector<std::tuple<Columns...>>;

inline constexpr Tolerance exact = Tolerance::exact();
constexpr Tolerance relative(double bound) { return Tolerance::relative(bound); }
constexpr Tolerance absolute(double bound) { return Tolerance::absolute(bound); }
constexpr Tolerance decimals(int n) { return Tolerance::decimals(n); }

/// f at each of the points.
template <class F> Series curve(std::string name, const Array<double>& points, F&& f) {
    Series curve{std::move(name)};
    for (const double x : points) curve.add(x, f(x));
    return curve;
}

/// A function of single numbers, and its slope by the hand-derived backward.
struct Curve {
    Array<double> value, slope;
};
template <class F> Curve values_and_slopes(const Array<double>& points, F&& f) {
    const X x = Tape().variable(points), y = f(x);
    sum(y).backward();
    return {y.value(), x.grad()};
}

/// The largest |a − b|, and the |x| where it is.
struct Gap {
    double size = 0, at = 0;
};
inline Gap largest_gap(const Array<double>& x, const Array<double>& a, const Array<double>& b) {
    Gap gap;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (const double here = std::abs(a[i] - b[i]); here > gap.size) gap = {here, std::abs(x[i])};
    return gap;
}

/// A Jacobian as colours: a row for each output.
inline HeatMap jacobian_map(std::string name, std::string title, std::string input, std::string output,
    std::string derivative, const Array<double>& j) {
    return {name, title, input, output, derivative, j.shape(0), j.shape(1), {j.begin(), j.end()}, true};
}

/// How many numbers the variables of a tape hold: all of them, or those of that name.
inline double parameters_on(const Tape& tape, std::string_view name = {}) {
    std::size_t total = 0;
    for (std::size_t i = 0; i < tape.size(); ++i)
        if (const Line line = tape.line(i); line.kind == Line::Kind::variable && (name.empty() || line.name == name))
            total += line.shape.size();
    return double(total);
}

/// `depth` matrices of N(0, 1/d): each keeps the scale of what it multiplies.
inline std::vector<Array<double>> random_matrices(Generator& rng, std::size_t depth, std::size_t d) {
    std::vector<Array<double>> w;
    for (std::size_t l = 0; l < depth; ++l) w.push_back(rng.normal(0, 1 / std::sqrt(double(d)), {d, d}));
    return w;
}
inline std::vector<X> random_matrices(const Tape& tape, Generator& rng, std::size_t depth, std::size_t d) {
    return mapped(random_matrices(rng, depth, d), [&](const Array<double>& w) { return tape.constant(w, "W"); });
}

// ---- what is measured of arrays and curves

/// √Σx²: the Frobenius norm of a matrix.
inline double norm(const Array<double>& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }
inline double norm(const std::vector<double>& x) { return norm(Array<double>(xt::adapt(x))); }

/// √⟨x²⟩ over all elements.
inline double root_mean_square(const Array<double>& x) { return norm(x) / std::sqrt(double(x.size())); }

/// max|x|; NaN where there is one.
inline double largest(const Array<double>& x) {
    double most = 0;
    for (const double v : x) most = std::abs(v) <= most ? most : std::isnan(most) ? most : std::abs(v);
    return most;
}
inline double largest(const std::vector<double>& x) { return largest(Array<double>(xt::adapt(x))); }

/// first, first + 1, …, last: layers as an axis.
inline std::vector<double> iota(std::size_t first, std::size_t last) {
    std::vector<double> x;
    for (std::size_t i = first; i <= last; ++i) x.push_back(double(i));
    return x;
}

/// The slope of the least-squares line through the points.
inline double slope(const std::vector<double>& x, const std::vector<double>& y) {
    double mx = 0, my = 0, xy = 0, xx = 0;
    for (std::size_t i = 0; i < x.size(); ++i) mx += x[i] / double(x.size()), my += y[i] / double(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) xy += (x[i] - mx) * (y[i] - my), xx += (x[i] - mx) * (x[i] - mx);
    return xy / xx;
}

/// The exponent p of the power law y ~ xᵖ that fits best, by least squares of the logarithms.
inline double fit_power_law(const std::vector<double>& x, const std::vector<double>& y) {
    const auto log = [](double v) { return std::log(v); };
    return slope(mapped(x, log), mapped(y, log));
}

// ---- what papers state

/// The reference values of references.json (NumPy and PyTorch in float64, same draws): by experiment, then by the name
/// that the number has in its report, "row: column".
const std::map<std::string, std::map<std::string, double>>& references();

/// The value for the report's experiment in that row and column. Throws Error where there is none.
double reference(const Report& report, std::string_view row, std::string_view column);

/// Reports values as the numbers "row: column", each judged against its reference unless the run draws from another
/// seed: judge(report, "pre, s = 1", tolerance, {{"RMS after block 0", rms[0]}, {"RMS after block 24", rms[24]}}).
void judge(Report& report, std::string_view row, Tolerance tolerance,
    std::initializer_list<std::pair<std::string_view, double>> columns);

// ---- one frozen stack of attention and FFN blocks, drawn once and run under every placement of the norms (course §6)

/// Blocks of causal attention with 4 heads and SwiGLU, for 16 tokens of width 64. No weight is ever trained.
struct BlockStack {
    static constexpr std::size_t tokens = 16, width = 64, heads = 4, hidden = 176;
    struct Block {
        Array<double> wq, wk, wv, wo, wg, wu, wd; ///< (in, out): q, k, v, output; gate, up, down
    };
    Array<double> x0; ///< (tokens, width)
    std::vector<Block> blocks;
};

/// Drawn from default_rng(seed): x0 ~ N(0, 1), then block after block the matrices in the order above, N(0, scale²/in).
BlockStack draw_stack(uint128 seed, std::size_t depth, double scale = 1);

struct StackRun {
    std::vector<double> rms;      ///< of the state: before the first block, then after each
    double largest = 0;           ///< max|x| of the last state
    std::vector<double> gradient; ///< ‖∂ℓ/∂W_d‖ of each block
};

/// Runs the stack with RMSNorm (eps 1e-6, no gain) where the placement says; no placement: x + F(x), no norm anywhere.
/// ℓ = Σ u·N(x_L) with u ~ N(0, 1) from default_rng(12); its gradients are computed where `backward` asks.
StackRun run_stack(const BlockStack& stack, std::optional<Placement> placement, bool backward = false);

/// "pre", "peri", …, and "none" for no placement.
inline const char* placement_name(std::optional<Placement> placement) {
    return placement ? nn::name(*placement) : "none";
}

/// One residual step, and without a placement h + F(h).
template <class F, class Norm> X residual_step(std::optional<Placement> placement, const X& h, F&& f, Norm&& norm) {
    return placement ? nn::residual(*placement, h, f, norm) : h + f(h);
}

} // namespace chalkgrad
