// Exercise attention (course §7): one causal head, y = softmax(q kᵀ/√d) v, where query i sees the keys j <= i.
#include <algorithm>
#include <chalkgrad/autograd/check/exercise.hpp>
#include <cmath>

using chalkgrad::Array;

// p_ij: the weight of key j for query i; 0 for j > i
Array<double> weights(const Array<double>& q, const Array<double>& k) {
    const std::size_t T = q.shape(0), d = q.shape(1);
    Array<double> p = xt::zeros<double>({T, T});
    for (std::size_t i = 0; i < T; ++i) {
        double largest = -HUGE_VAL, sum = 0;
        for (std::size_t j = 0; j <= i; ++j) {
            for (std::size_t l = 0; l < d; ++l) p(i, j) += q(i, l) * k(j, l) / std::sqrt(double(d));
            largest = std::max(largest, p(i, j));
        }
        for (std::size_t j = 0; j <= i; ++j) sum += p(i, j) = std::exp(p(i, j) - largest);
        for (std::size_t j = 0; j <= i; ++j) p(i, j) /= sum;
    }
    return p;
}

// y_i = Σ_j p_ij v_j        q and k (T, d), v (T, m)
Array<double> forward(const Array<double>& q, const Array<double>& k, const Array<double>& v) {
    const std::size_t T = v.shape(0), m = v.shape(1);
    const Array<double> p = weights(q, k);
    Array<double> y = xt::zeros<double>({T, m});
    for (std::size_t i = 0; i < T; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            for (std::size_t l = 0; l < m; ++l) y(i, l) += p(i, j) * v(j, l);
    return y;
}

// gy is what arrives for y. Write what it makes of q, k and v.
std::vector<Array<double>> backward(const Array<double>& q, const Array<double>& k, const Array<double>& v,
    const Array<double>& y, const Array<double>& gy) {
    Array<double> gq = xt::zeros_like(q), gk = xt::zeros_like(k), gv = xt::zeros_like(v);
    // Your lines.
    return {gq, gk, gv};
}

CHALKGRAD_EXERCISE(attention, forward, backward);
