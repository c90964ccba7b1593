// Exercise rms_norm (course §5): RMSNorm with a gain.
#include <chalkgrad/autograd/check/exercise.hpp>
#include <cmath>

using chalkgrad::Array;

constexpr double eps = 0.01; // large, so that it matters for a row of the check

// r_t = 1/√(mean_j x_tj² + ε), for row t of x
double inverse_rms(const Array<double>& x, std::size_t t) {
    double square = 0;
    for (std::size_t j = 0; j < x.shape(1); ++j) square += x(t, j) * x(t, j);
    return 1 / std::sqrt(square / double(x.shape(1)) + eps);
}

// y_tj = γ_j r_t x_tj        x (T, d), gamma (d)
Array<double> forward(const Array<double>& x, const Array<double>& gamma) {
    Array<double> y = xt::zeros_like(x);
    for (std::size_t t = 0; t < x.shape(0); ++t) {
        const double r = inverse_rms(x, t);
        for (std::size_t j = 0; j < x.shape(1); ++j) y(t, j) = gamma(j) * r * x(t, j);
    }
    return y;
}

// gy is what arrives for y. Write what it makes of x and of gamma.
std::vector<Array<double>> backward(
    const Array<double>& x, const Array<double>& gamma, const Array<double>& y, const Array<double>& gy) {
    Array<double> gx = xt::zeros_like(x), ggamma = xt::zeros_like(gamma);
    // Your lines.
    return {gx, ggamma};
}

CHALKGRAD_EXERCISE(rms_norm, forward, backward);
