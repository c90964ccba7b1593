// What the experiments of the course are written with: draws, the tape and the ops, placements, measures, the report.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/graph/dot.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/cast.hpp>
#include <chalkgrad/experiments/course/measure.hpp>
#include <chalkgrad/experiments/course/references.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
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
    std::vector<X> w;
    for (const Array<double>& each : random_matrices(rng, depth, d)) w.push_back(tape.constant(each, "W"));
    return w;
}

} // namespace chalkgrad
