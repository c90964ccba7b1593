// Exercise linear (course §8): a linear layer, y = x w. Tokens are the rows of x.
#include <chalkgrad/autograd/check/exercise.hpp>

using chalkgrad::Array;

// y_tj = Σ_i x_ti w_ij        x (T, n), w (n, m), y (T, m)
Array<double> forward(const Array<double>& x, const Array<double>& w) {
    const std::size_t T = x.shape(0), n = x.shape(1), m = w.shape(1);
    Array<double> y = xt::zeros<double>({T, m});
    for (std::size_t t = 0; t < T; ++t)
        for (std::size_t j = 0; j < m; ++j)
            for (std::size_t i = 0; i < n; ++i) y(t, j) += x(t, i) * w(i, j);
    return y;
}

// gy is what arrives for y. Write what it makes of x and of w.
std::vector<Array<double>> backward(
    const Array<double>& x, const Array<double>& w, const Array<double>& y, const Array<double>& gy) {
    Array<double> gx = xt::zeros_like(x), gw = xt::zeros_like(w);
    // Your lines.
    return {gx, gw};
}

CHALKGRAD_EXERCISE(linear, forward, backward);
