// Exercise swiglu (course §8): the gate of a SwiGLU FFN, y = SiLU(g) u.
#include <chalkgrad/autograd/check/exercise.hpp>
#include <cmath>

using chalkgrad::Array;

// 1/(1 + e^−z), from the exponential that cannot overflow.
double sigmoid(double z) {
    const double e = std::exp(-std::abs(z));
    return (z < 0 ? e : 1) / (1 + e);
}

// y = g σ(g) u
Array<double> forward(const Array<double>& g, const Array<double>& u) {
    Array<double> y = xt::zeros_like(g);
    for (std::size_t i = 0; i < g.size(); ++i) y.data()[i] = g.data()[i] * sigmoid(g.data()[i]) * u.data()[i];
    return y;
}

// gy is what arrives for y. Write what it makes of g and of u.
std::vector<Array<double>> backward(
    const Array<double>& g, const Array<double>& u, const Array<double>& y, const Array<double>& gy) {
    Array<double> gg = xt::zeros_like(g), gu = xt::zeros_like(u);
    // Your lines.
    return {gg, gu};
}

CHALKGRAD_EXERCISE(swiglu, forward, backward);
