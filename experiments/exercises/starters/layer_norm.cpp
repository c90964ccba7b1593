// Exercise layer_norm (course §5): LayerNorm with a gain and a bias.
#include <chalkgrad/autograd/check/exercise.hpp>
#include <cmath>

using chalkgrad::Array;

constexpr double eps = 0.01; // large, so that it matters for a row of the check

struct Statistics {
    double mean, inverse_deviation;
};

// μ_t = mean_j x_tj and s_t = 1/√(mean_j (x_tj − μ_t)² + ε), for row t of x
Statistics statistics(const Array<double>& x, std::size_t t) {
    const double d = double(x.shape(1));
    double mean = 0, variance = 0;
    for (std::size_t j = 0; j < x.shape(1); ++j) mean += x(t, j) / d;
    for (std::size_t j = 0; j < x.shape(1); ++j) variance += (x(t, j) - mean) * (x(t, j) - mean) / d;
    return {mean, 1 / std::sqrt(variance + eps)};
}

// y_tj = γ_j s_t (x_tj − μ_t) + β_j        x (T, d), gamma and beta (d)
Array<double> forward(const Array<double>& x, const Array<double>& gamma, const Array<double>& beta) {
    Array<double> y = xt::zeros_like(x);
    for (std::size_t t = 0; t < x.shape(0); ++t) {
        const auto [mean, s] = statistics(x, t);
        for (std::size_t j = 0; j < x.shape(1); ++j) y(t, j) = gamma(j) * s * (x(t, j) - mean) + beta(j);
    }
    return y;
}

// gy is what arrives for y. Write what it makes of x, gamma and beta.
std::vector<Array<double>> backward(const Array<double>& x, const Array<double>& gamma, const Array<double>& beta,
    const Array<double>& y, const Array<double>& gy) {
    Array<double> gx = xt::zeros_like(x), ggamma = xt::zeros_like(gamma), gbeta = xt::zeros_like(beta);
    // Your lines.
    return {gx, ggamma, gbeta};
}

CHALKGRAD_EXERCISE(layer_norm, forward, backward);
