// Exercise l2_normalize (course §7): rows of length 1, with a guard against a length of 0.
#include <algorithm>
#include <chalkgrad/autograd/check/exercise.hpp>
#include <cmath>

using chalkgrad::Array;

constexpr double eps = 0.5; // large, so that a row of the check lies below it

// ‖x_t‖, for row t of x
double length(const Array<double>& x, std::size_t t) {
    double square = 0;
    for (std::size_t j = 0; j < x.shape(1); ++j) square += x(t, j) * x(t, j);
    return std::sqrt(square);
}

// y_tj = x_tj / max(‖x_t‖, ε)        x (T, d)
Array<double> forward(const Array<double>& x) {
    Array<double> y = xt::zeros_like(x);
    for (std::size_t t = 0; t < x.shape(0); ++t)
        for (std::size_t j = 0; j < x.shape(1); ++j) y(t, j) = x(t, j) / std::max(length(x, t), eps);
    return y;
}

// gy is what arrives for y. Write what it makes of x.
Array<double> backward(const Array<double>& x, const Array<double>& y, const Array<double>& gy) {
    Array<double> gx = xt::zeros_like(x);
    // Your lines.
    return gx;
}

CHALKGRAD_EXERCISE(l2_normalize, forward, backward);
