// What experiments measure of arrays and curves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include <chalkgrad/autograd/base/array.hpp>

namespace chalkgrad {

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
    std::vector<double> log_x, log_y;
    for (const double v : x) log_x.push_back(std::log(v));
    for (const double v : y) log_y.push_back(std::log(v));
    return slope(log_x, log_y);
}

} // namespace chalkgrad
