// What the experiments of the course are written with: draws, the tape and the ops they share, measures, the report.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/graph/dot.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/course/measure.hpp>
#include <chalkgrad/experiments/course/references.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/experiments/report/parallel.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

namespace chalkgrad {

using X = Var<double>; ///< a number, vector or matrix on the tape

inline constexpr Tolerance exact = Tolerance::exact();
constexpr Tolerance relative(double bound) { return Tolerance::relative(bound); }
constexpr Tolerance absolute(double bound) { return Tolerance::absolute(bound); }
constexpr Tolerance decimals(int n) { return Tolerance::decimals(n); }

/// f at each of the points.
template <class F> Series curve(std::string name, const Array<double>& points, F&& f, Mark mark = Mark::line) {
    Series curve{std::move(name), {}, {}, mark};
    for (const double x : points) curve.add(x, f(x));
    return curve;
}

/// A function of single numbers, and its slope by the hand-derived backward.
struct Curve {
    Array<double> value, slope;
};
template <class F> Curve values_and_slopes(const Array<double>& points, F&& f) {
    Tape tape;
    const X x = tape.variable(points), y = f(x);
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
