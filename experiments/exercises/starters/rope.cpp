// Exercise rope (Su et al. 2021): pairs of features turn by an angle that grows with the position.
#include <chalkgrad/autograd/check/exercise.hpp>
#include <cmath>

using chalkgrad::Array;

// The angle of pair i of the token at position t; d features make d/2 pairs.
double angle(std::size_t t, std::size_t i, std::size_t d) {
    return double(t) * std::pow(10000., -2. * double(i) / double(d));
}

// With a = x_ti and b = x_t,i+d/2:  y_ti = a cos − b sin,  y_t,i+d/2 = a sin + b cos        x (T, d), d even
Array<double> forward(const Array<double>& x) {
    Array<double> y = xt::zeros_like(x);
    const std::size_t T = x.shape(0), d = x.shape(1), half = d / 2;
    for (std::size_t t = 0; t < T; ++t)
        for (std::size_t i = 0; i < half; ++i) {
            const double c = std::cos(angle(t, i, d)), s = std::sin(angle(t, i, d));
            y(t, i) = x(t, i) * c - x(t, i + half) * s;
            y(t, i + half) = x(t, i) * s + x(t, i + half) * c;
        }
    return y;
}

// gy is what arrives for y. Write what it makes of x.
Array<double> backward(const Array<double>& x, const Array<double>& y, const Array<double>& gy) {
    Array<double> gx = xt::zeros_like(x);
    // Your lines.
    return gx;
}

CHALKGRAD_EXERCISE(rope, forward, backward);
