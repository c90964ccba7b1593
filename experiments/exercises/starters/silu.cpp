// Exercise silu (course §8): SiLU, element by element.
#include <chalkgrad/autograd/check/exercise.hpp>
#include <cmath>

using chalkgrad::Array;

// 1/(1 + e^−z), from the exponential that cannot overflow.
double sigmoid(double z) {
    const double e = std::exp(-std::abs(z));
    return (z < 0 ? e : 1) / (1 + e);
}

// y = x σ(x)
Array<double> forward(const Array<double>& x) {
    Array<double> y = xt::zeros_like(x);
    for (std::size_t i = 0; i < x.size(); ++i) y.data()[i] = x.data()[i] * sigmoid(x.data()[i]);
    return y;
}

// gy is what arrives for y. Write what it makes of x.
Array<double> backward(const Array<double>& x, const Array<double>& y, const Array<double>& gy) {
    Array<double> gx = xt::zeros_like(x);
    // Your lines.
    return gx;
}

CHALKGRAD_EXERCISE(silu, forward, backward);
