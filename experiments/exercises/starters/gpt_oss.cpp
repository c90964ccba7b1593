// Exercise gpt_oss (course §9): the clamped activation of gpt-oss.
#include <algorithm>
#include <chalkgrad/autograd/check/exercise.hpp>
#include <cmath>

using chalkgrad::Array;

constexpr double alpha = 1.702, limit = 7;

// 1/(1 + e^−z), from the exponential that cannot overflow.
double sigmoid(double z) {
    const double e = std::exp(-std::abs(z));
    return (z < 0 ? e : 1) / (1 + e);
}

// a = min(g, 7), b = clip(u, −7, 7),  y = a σ(1.702 a) (b + 1): the gate is clamped above only, the other factor on
// both sides.
Array<double> forward(const Array<double>& g, const Array<double>& u) {
    Array<double> y = xt::zeros_like(g);
    for (std::size_t i = 0; i < g.size(); ++i) {
        const double a = std::min(g.data()[i], limit), b = std::clamp(u.data()[i], -limit, limit);
        y.data()[i] = a * sigmoid(alpha * a) * (b + 1);
    }
    return y;
}

// gy is what arrives for y. Write what it makes of g and of u.
std::vector<Array<double>> backward(
    const Array<double>& g, const Array<double>& u, const Array<double>& y, const Array<double>& gy) {
    Array<double> gg = xt::zeros_like(g), gu = xt::zeros_like(u);
    // Your lines.
    return {gg, gu};
}

CHALKGRAD_EXERCISE(gpt_oss, forward, backward);
