// Exercise dyt (course §11): Dynamic Tanh, with a scalar slope and a gain and a bias for each feature.
#include <chalkgrad/autograd/check/exercise.hpp>
#include <cmath>

using chalkgrad::Array;

// y_tj = γ_j tanh(α x_tj) + β_j        x (T, d), alpha one number (no axes), gamma and beta (d)
Array<double> forward(
    const Array<double>& x, const Array<double>& alpha, const Array<double>& gamma, const Array<double>& beta) {
    Array<double> y = xt::zeros_like(x);
    for (std::size_t t = 0; t < x.shape(0); ++t)
        for (std::size_t j = 0; j < x.shape(1); ++j) y(t, j) = gamma(j) * std::tanh(alpha() * x(t, j)) + beta(j);
    return y;
}

// gy is what arrives for y. Write what it makes of the four inputs; galpha() is the one number of galpha.
std::vector<Array<double>> backward(const Array<double>& x, const Array<double>& alpha, const Array<double>& gamma,
    const Array<double>& beta, const Array<double>& y, const Array<double>& gy) {
    Array<double> gx = xt::zeros_like(x), galpha = xt::zeros_like(alpha), ggamma = xt::zeros_like(gamma),
                  gbeta = xt::zeros_like(beta);
    // Your lines.
    return {gx, galpha, ggamma, gbeta};
}

CHALKGRAD_EXERCISE(dyt, forward, backward);
