// The table of wrong backwards. "of ...#n" names the published bug.
#include "mutants.hpp"

#include <cmath>
#include <numbers>

#include <chalkgrad/chalkgrad.hpp>

namespace chalkgrad::gallery {
namespace {

using Vars = const std::vector<Var<double>>&;

double sech2(double x) { return 1 / (std::cosh(x) * std::cosh(x)); }

/// f(x row, gx row) for every row of operand 0 behind the right vjp.
WrongVjp each_row(
    std::function<void(const Backward&, std::size_t row, std::size_t d, const double* x, double* gx)> spoil) {
    return then([=](const Backward& c) {
        if (!c.gx[0]) return;
        const std::size_t d = c.in[0].last();
        for (std::size_t t = 0; t < c.in[0].rows(); ++t) spoil(c, t, d, c.in[0].data + t * d, c.gx[0].data + t * d);
    });
}

/// Gradients of rms_norm's x from r, x̂ and the weighted cotangents of a row, by a formula for each element:
/// f(r, γ_j, gy_j, x̂_j, m) with m = mean(γ gy x̂).
WrongVjp rms_formula(
    double eps, std::function<double(double r, double gamma, double gy, double x_hat, double m, double d)> f) {
    return each_row([=](const Backward& c, std::size_t t, std::size_t d, const double* x, double* gx) {
        const double n = static_cast<double>(d);
        double square = 0, m = 0;
        for (std::size_t j = 0; j < d; ++j) square += x[j] * x[j];
        const double r = 1 / std::sqrt(square / n + eps);
        const double* gy = c.gy.data + t * d;
        for (std::size_t j = 0; j < d; ++j) m += c.in[1][j] * gy[j] * x[j] * r / n;
        for (std::size_t j = 0; j < d; ++j) gx[j] = f(r, c.in[1][j], gy[j], x[j] * r, m, n);
    });
}

/// The same for layer_norm: f(r, g_j = γ_j gy_j, x̂_j, Σg, Σ g x̂, d).
WrongVjp layer_formula(
    double eps, std::function<double(double r, double g, double x_hat, double sum_g, double sum_gx, double d)> f) {
    return each_row([=](const Backward& c, std::size_t t, std::size_t d, const double* x, double* gx) {
        const double n = static_cast<double>(d);
        double mean = 0, variance = 0, sum_g = 0, sum_gx = 0;
        for (std::size_t j = 0; j < d; ++j) mean += x[j] / n;
        for (std::size_t j = 0; j < d; ++j) variance += (x[j] - mean) * (x[j] - mean) / n;
        const double r = 1 / std::sqrt(variance + eps);
        const auto g = [&](std::size_t j) { return (c.in[1] ? c.in[1][j] : 1) * c.gy[t * d + j]; };
        for (std::size_t j = 0; j < d; ++j) {
            sum_g += g(j);
            sum_gx += g(j) * (x[j] - mean) * r;
        }
        for (std::size_t j = 0; j < d; ++j) gx[j] = f(r, g(j), (x[j] - mean) * r, sum_g, sum_gx, n);
    });
}

/// Gradients written to the places `to` gives: gx[to(i)] = right gx[i].
WrongVjp moved(std::size_t k, std::function<std::size_t(std::size_t i, const Backward&)> to) {
    return then([=](const Backward& c) {
        if (!c.gx[k]) return;
        const std::vector<double> right(c.gx[k].data, c.gx[k].data + c.gx[k].size());
        for (std::size_t i = 0; i < right.size(); ++i) c.gx[k][to(i, c)] = right[i];
    });
}

/// a · b of two matrices with the wrong one of them transposed: gx_k = gy · b, or a · gy (square).
WrongVjp untransposed(std::size_t k) {
    return only(k, [=](const Backward& c) {
        const std::size_t n = c.y.last();
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                double s = 0;
                for (std::size_t l = 0; l < n; ++l)
                    s += k == 0 ? c.gy[i * n + l] * c.in[1][l * n + j] : c.in[0][i * n + l] * c.gy[l * n + j];
                c.gx[k][i * n + j] = s;
            }
    });
}

/// For maps that are linear in operand k: the forward run on the cotangent, where its transpose should be.
WrongVjp forwards(std::size_t k) {
    return only(k, [=](const Backward& c) {
        std::vector<In<double>> in(c.in.items, c.in.items + c.in.size());
        std::vector<const Shape*> shapes;
        for (const In<double>& x : in) shapes.push_back(x.shape);
        in[k].data = c.gy.data;
        std::vector<double> saved(c.right.saved({shapes.data(), shapes.size()}));
        c.right.forward({in.data(), in.size()}, {c.gx[k].data, c.y.shape}, saved.data());
    });
}

Var<double> tiled(const Var<double>& k, std::size_t times) { return concat(std::vector<Var<double>>(times, k), 0); }

AttentionOptions causal() {
    AttentionOptions o;
    o.causal = true;
    return o;
}

/// Causal attention that sees one key too many.
Var<double> one_more(Vars x) {
    const std::size_t t = x[0].shape()[1];
    Array<double> mask = Array<double>::from_shape({t, t});
    for (std::size_t i = 0; i < t; ++i)
        for (std::size_t j = 0; j < t; ++j) mask(i, j) = j <= i + 1 ? 0 : -HUGE_VAL;
    return sdpa(x[0], x[1], x[2], {}, x[0].tape().constant(mask));
}

Sample tied(Generator&) {
    return {"tied", {{"x", Array<double>{{1, 3, 3, 2}, {5, -1, 0, 2}}}}, {}, {{"axes", std::vector<double>{-1}}}};
}

SinkhornOptions rows_first(std::ptrdiff_t iterations) {
    return {iterations, SinkhornOrder::rows_first, SinkhornGradient::unrolled};
}

std::vector<Exhibit> plain_exhibits() {
    using enum Cause;
    constexpr double two_over_root_pi = 2 * std::numbers::inv_sqrtpi;
    return {
        // ---- arithmetic
        {"add: a broadcast row is overwritten", "add", "row", "add", "b", not_summed, last_only(1)},
        {"add: a number gets the last element's", "add", "number", "add", "b", not_summed, last_only(1)},
        {"sub: sign of b", "sub", "same_shape", "sub", "b", sign, scaled(1, -1)},
        {"mul: times its own operand", "mul", "same_shape", "mul", "a", slopes,
            slope(0, [](const Backward& c, std::size_t i) { return c.in[0][i]; })},
        {"mul: the mean over a broadcast axis", "mul", "row", "mul", "b", factor, scaled(1, 1. / 6)},
        {"div: b not squared", "div", "same_shape", "div", "b", slopes,
            slope(1, [](const Backward& c, std::size_t i) { return -c.in[0][i] / c.in[1][i]; })},
        {"div: sign of b", "div", "row", "div", "b", sign, scaled(1, -1)},
        // ---- functions of one element
        {"neg: no sign", "neg", "rows", "neg", "x", sign, scaled(0, -1)},
        {"exp: x for y", "exp", "rows", "exp", "x", slopes, slope([](double x, double) { return x; })},
        {"log: 1/y", "log", "rows", "log", "x", slopes, slope([](double, double y) { return 1 / y; })},
        {"log1p: the 1 lost", "log1p", "rows", "log1p", "x", slopes, slope([](double x, double) { return 1 / x; })},
        {"sqrt: the half lost", "sqrt", "rows", "sqrt", "x", factor, slope([](double, double y) { return 1 / y; })},
        {"rsqrt: squared, not cubed", "rsqrt", "rows", "rsqrt", "x", slopes,
            slope([](double, double y) { return -y * y / 2; })},
        {"square: the 2 lost", "square", "rows", "square", "x", factor, scaled(0, 0.5)},
        {"reciprocal: sign", "reciprocal", "rows", "reciprocal", "x", sign, scaled(0, -1)},
        {"tanh: bypassed", "tanh", "rows", "tanh", "x", slopes,
            slope([](double, double) { return 1; })}, // of cs249r_book#1336
        {"tanh: 1 - x^2", "tanh", "row_of_11", "tanh", "x", slopes, slope([](double x, double) { return 1 - x * x; })},
        {"erf: exponent halved", "erf", "rows", "erf", "x", slopes,
            slope([](double x, double) { return two_over_root_pi * std::exp(-x * x / 2); })},
        {"abs: no sign", "abs", "rows", "abs", "x", slopes, slope([](double, double) { return 1; })},
        {"pow: exponent lost", "pow", "cube", "pow", "x", factor, scaled(0, 1. / 3)},
        {"pow: exponent not lowered", "pow", "fraction", "pow", "x", slopes,
            slope([](double, double y) { return 0.7 * y; })},
        // ---- clamps and choices
        {"clamp: never closed", "clamp", "two_sided", "clamp", "x", should_be_zero,
            slope([](double, double) { return 1; })},
        {"clamp: lower limit never closed", "clamp", "two_sided", "clamp", "x", should_be_zero,
            slope([](double x, double) { return x <= 2; })},
        {"maximum: to the smaller one", "maximum", "same_shape", "maximum", "a", misplaced,
            slope(0, [](const Backward& c, std::size_t i) { return c.in[0][i] < c.in[1][i]; })},
        {"minimum: to both", "minimum", "same_shape", "minimum", "a", should_be_zero,
            slope(0, [](const Backward&, std::size_t) { return 1; })},
        {"minimum: a broadcast row is overwritten", "minimum", "row", "minimum", "b", not_summed, last_only(1)},
        {"logaddexp: halves", "logaddexp", "same_shape", "logaddexp", "a", slopes,
            slope(0, [](const Backward&, std::size_t) { return 0.5; })},
        // ---- reductions
        {"sum: divided by the count", "sum", "last_axis", "sum", "x", factor, scaled(0, 1. / 11)},
        {"sum: over the wrong axis", "sum", "middle", "sum", "x", misplaced,
            moved(0, [](std::size_t i, const Backward&) { return i / 9 * 9 + i % 3 * 3 + i / 3 % 3; })},
        {"mean: not divided", "mean", "first_axis", "mean", "x", factor, scaled(0, 4)},
        {"var_biased: d - 1", "var_biased", "last_axis", "var_biased", "x", factor, scaled(0, 1.1)},
        {"var_biased: mean not subtracted", "var_biased", "last_axis", "var_biased", "x", mean_of_cotangent,
            each_row([](const Backward& c, std::size_t t, std::size_t d, const double* x, double* gx) {
                for (std::size_t j = 0; j < d; ++j) gx[j] = 2 * c.gy[t] * x[j] / static_cast<double>(d);
            })},
        {"amax: to all elements", "amax", "last_axis", "amax", "x", should_be_zero,
            derivative_of([](Vars x) { return mean(x[0], -1, true); })},
        {"amax: to both of a tie in full", "amax", "tied", "amax", "x", slopes,
            each_row([](const Backward& c, std::size_t t, std::size_t d, const double* x, double* gx) {
                for (std::size_t j = 0; j < d; ++j) gx[j] = x[j] == c.y[t] ? c.gy[t] : 0;
            }),
            tied},
        {"amin: to the neighbour", "amin", "last_axis", "amin", "x", misplaced,
            moved(0, [](std::size_t i, const Backward&) { return i / 11 * 11 + (i + 1) % 11; })},
        {"logsumexp: uniform weights", "logsumexp", "last_axis", "logsumexp", "x", slopes,
            derivative_of([](Vars x) { return mean(x[0], -1, true); })},
        {"logsumexp: mask ignored", "logsumexp", "hidden_entries", "logsumexp", "x", should_be_zero,
            derivative_of([](Vars x) { return logsumexp(x[0], -1); })},
        // ---- products
        {"matmul: b not transposed", "matmul", "square", "matmul", "a", transposed, untransposed(0)},
        {"matmul: a not transposed", "matmul", "square", "matmul", "b", transposed, untransposed(1)},
        {"matmul: a shared weight keeps the last batch", "matmul", "shared_weight", "matmul", "b", not_summed,
            only(1, of_cotangent(
                        [](std::vector<double>& gy, const Backward&) { std::fill(gy.begin(), gy.begin() + 12, 0.); }))},
        {"matmul: sign", "matmul", "batched", "matmul", "b", sign, scaled(1, -1)},
        // ---- structure
        {"reshape: read backwards", "reshape", "rows", "reshape", "x", misplaced,
            moved(0, [](std::size_t i, const Backward&) { return 11 - i; })},
        {"transpose: axes for their inverse", "transpose", "cycle", "transpose", "x", misplaced,
            only(0,
                [](const Backward& c) { // y has shape (4, 2, 3); read as if it were transposed by {2, 0, 1} again
                    for (std::size_t i = 0; i < 24; ++i) c.gx[0][i] = c.gy[i % 4 * 6 + i / 4 % 3 * 2 + i / 12];
                })},
        {"concat: offset forgotten", "concat", "rows", "concat", "x", misplaced,
            only(1, [](const Backward& c) { std::copy_n(c.gy.data, 9, c.gx[1].data); })},
        {"stack: parts exchanged", "stack", "first", "stack", "x", misplaced,
            only(0, [](const Backward& c) { std::copy_n(c.gy.data + 6, 6, c.gx[0].data); })},
        {"slice: step ignored", "slice", "even", "slice", "x", misplaced, then([](const Backward& c) {
             std::fill_n(c.gx[0].data, 18, 0.);
             for (std::size_t i = 0; i < 9; ++i) c.gx[0][i / 3 * 6 + i % 3] = c.gy[i];
         })},
        {"where: to both branches", "where", "same_shape", "where", "a", should_be_zero,
            slope(0, [](const Backward&, std::size_t) { return 1; })},
        {"repeat_kv: tiled", "repeat_kv", "two_to_four", "repeat_kv", "k", misplaced,
            derivative_of([](Vars x) { return tiled(x[0], 2); })},
        {"repeat_kv: the last head wins", "repeat_kv", "two_to_four", "repeat_kv", "k", not_summed,
            of_cotangent([](std::vector<double>& gy, const Backward&) {
                for (std::size_t i = 0; i < 6; ++i) gy[i] = gy[12 + i] = 0;
            })},
        {"embedding: the last id wins", "embedding", "repeated", "embedding", "table", not_summed,
            of_cotangent([](std::vector<double>& gy, const Backward&) {
                for (const std::size_t row : {0, 2})
                    for (std::size_t j = 0; j < 3; ++j) gy[3 * row + j] = 0;
            })},
        {"embedding: ids off by one", "embedding", "repeated", "embedding", "table", misplaced,
            moved(0, [](std::size_t i, const Backward&) { return (i + 3) % 15; })},
        // ---- softmax and losses
        {"softmax: dot product missing", "softmax", "rows", "softmax", "x", rank_one,
            slope([](double, double y) { return y; })},
        {"softmax: diagonal only", "softmax", "rows", "softmax", "x", zeroed,
            slope([](double, double y) { return y * (1 - y); })},
        {"softmax: mask ignored", "softmax", "causal", "softmax", "x", should_be_zero,
            derivative_of([](Vars x) { return softmax(x[0]); })},
        {"softmax: wrong axis", "softmax", "columns", "softmax", "x", misplaced,
            derivative_of([](Vars x) { return softmax(x[0], -1); })},
        {"softmax: sign", "softmax", "middle", "softmax", "x", sign, scaled(0, -1)},
        {"log_softmax: sum of the cotangent missing", "log_softmax", "rows", "log_softmax", "x", rank_one,
            slope([](double, double) { return 1; })},
        {"log_softmax: exp(x) for p", "log_softmax", "rows", "log_softmax", "x", rank_one,
            derivative_of([](Vars x) { return x[0] - sum(exp(x[0]), -1, true); })},
        {"cross_entropy: not divided by the rows", "cross_entropy", "mean", "cross_entropy", "logits", factor,
            scaled(0, 4)},
        {"cross_entropy: ignored rows counted", "cross_entropy", "ignored", "cross_entropy", "logits", factor,
            scaled(0, 0.5)},
        {"cross_entropy: one-hot missing", "cross_entropy", "mean", "cross_entropy", "logits", some_elements,
            derivative_of([](Vars x) { return mean(logsumexp(x[0], -1)); })},
        {"cross_entropy: ignored rows get a gradient", "cross_entropy", "ignored", "cross_entropy", "logits",
            should_be_zero, derivative_of([](Vars x) {
                return cross_entropy(x[0], Array<std::int64_t>{1, 0, 2, 0});
            })},
        // ---- activations
        {"relu: never closed", "relu", "rows", "relu", "x", should_be_zero, slope([](double, double) { return 1; })},
        {"sigmoid: 1 - y lost", "sigmoid", "rows", "sigmoid", "x", slopes, slope([](double, double y) { return y; })},
        {"softplus: slope of relu", "softplus", "rows", "softplus", "x", zeroed,
            slope([](double x, double) { return x > 0; })},
        {"silu: product rule forgotten", "silu", "rows", "silu", "x", slopes,
            slope([](double x, double) { return sigma(x); })},
        {"gelu_erf: slope of gelu_tanh", "gelu_erf", "rows", "gelu_erf", "x", small_term,
            derivative_of([](Vars x) { return gelu_tanh(x[0]); })},
        {"gelu_tanh: 3 of the cube lost", "gelu_tanh", "rows", "gelu_tanh", "x", slopes, slope([](double x, double) {
             const double k = std::sqrt(2 / std::numbers::pi), z = k * (x + 0.044715 * x * x * x);
             return (1 + std::tanh(z)) / 2 + x / 2 * sech2(z) * k * (1 + 0.044715 * x * x);
         })},
        {"quick_gelu: alpha lost", "quick_gelu", "rows", "quick_gelu", "x", slopes,
            slope([](double x, double) { return sigma(1.702 * x) * (1 + x * (1 - sigma(1.702 * x))); })},
        {"softcap: 1 - (s/c)^2", "softcap", "rows", "softcap", "s", slopes,
            slope([](double s, double) { return 1 - s * s / 25; })},
        {"softcap: treated as identity", "softcap", "rows", "softcap", "s", slopes,
            slope([](double, double) { return 1; })},
        // ---- norms
        {"rms_norm: d rms/dx missing", "rms_norm", "row_of_eleven", "rms_norm", "x", along_x, // of AiDotNet#695
            rms_formula(1e-5, [](double r, double w, double gy, double, double, double) { return r * w * gy; })},
        {"rms_norm: weight twice in the variance term", "rms_norm", "row_of_eleven", "rms_norm", "x",
            along_x, // of Megatron-LM#6859
            each_row([](const Backward& c, std::size_t t, std::size_t d, const double* x, double* gx) {
                double square = 0, m = 0;
                for (std::size_t j = 0; j < d; ++j) square += x[j] * x[j] / static_cast<double>(d);
                const double r = 1 / std::sqrt(square + 1e-5);
                const double *w = c.in[1].data, *gy = c.gy.data + t * d;
                for (std::size_t j = 0; j < d; ++j) m += w[j] * w[j] * gy[j] * x[j] * r / static_cast<double>(d);
                for (std::size_t j = 0; j < d; ++j) gx[j] = r * (w[j] * gy[j] - x[j] * r * m);
            })},
        {"rms_norm: weight on the whole variance term", "rms_norm", "row_of_eleven", "rms_norm", "x", rank_one,
            rms_formula(
                1e-5, [](double r, double w, double gy, double x, double m, double) { return r * w * (gy - x * m); })},
        {"rms_norm: weight forgotten", "rms_norm", "row_of_eleven", "rms_norm", "x", gain, // of llm.c#763
            derivative_of([](Vars x) { return rms_norm(x[0], {}, 1e-5); })},
        {"rms_norm: sign", "rms_norm", "row_of_sqrt_eps", "rms_norm", "x", sign, scaled(0, -1)}, // of ggml#1491
        {"rms_norm: sign of the statistic's term", "rms_norm", "row_of_eleven", "rms_norm", "x", along_x,
            rms_formula(
                1e-5, [](double r, double w, double gy, double x, double m, double) { return r * (w * gy + x * m); })},
        {"rms_norm: sum for mean", "rms_norm", "row_of_eleven", "rms_norm", "x", along_x,
            rms_formula(1e-5,
                [](double r, double w, double gy, double x, double m, double d) { return r * (w * gy - x * m * d); })},
        {"rms_norm: epsilon dropped", "rms_norm", "row_of_sqrt_eps", "rms_norm", "x", epsilon,
            derivative_of([](Vars x) { return rms_norm(x[0], x[1], 1e-300); })},
        {"rms_norm: x/RMS for x-hat", "rms_norm", "row_of_sqrt_eps", "rms_norm", "x", epsilon,
            each_row([](const Backward& c, std::size_t t, std::size_t d, const double* x, double* gx) {
                const double n = static_cast<double>(d), *w = c.in[1].data, *gy = c.gy.data + t * d;
                double square = 0, m = 0;
                for (std::size_t j = 0; j < d; ++j) square += x[j] * x[j] / n;
                const double rms = std::sqrt(square), r = 1 / std::sqrt(square + 1e-6);
                for (std::size_t j = 0; j < d; ++j) m += w[j] * gy[j] * x[j] / rms / n;
                for (std::size_t j = 0; j < d; ++j) gx[j] = r * (w[j] * gy[j] - x[j] / rms * m);
            })},
        {"rms_norm: the 1 of 1 + gamma lost", "rms_norm", "one_plus_gain", "rms_norm", "x", gain,
            derivative_of([](Vars x) { return rms_norm(x[0], x[1], 1e-5); })},
        {"rms_norm: gain's gradient keeps the last row", "rms_norm", "row_of_sqrt_eps", "rms_norm", "gamma", not_summed,
            last_only(1)},
        {"rms_norm: gain's gradient without r", "rms_norm", "row_of_eleven", "rms_norm", "gamma", slopes,
            only(1,
                [](const Backward& c) {
                    std::fill_n(c.gx[1].data, 11, 0.);
                    for (std::size_t i = 0; i < c.gy.size(); ++i) c.gx[1][i % 11] += c.gy[i] * c.in[0][i];
                })},
        {"layer_norm: mean term missing", "layer_norm", "affine", "layer_norm", "x", mean_of_cotangent,
            layer_formula(1e-6, [](double r, double g, double x, double, double sum_gx,
                                    double d) { return r * (g - x * sum_gx / d); })},
        {"layer_norm: variance term missing", "layer_norm", "gain_only", "layer_norm", "x", along_centred_x,
            layer_formula(
                1e-5, [](double r, double g, double, double sum_g, double, double d) { return r * (g - sum_g / d); })},
        {"layer_norm: d - 1", "layer_norm", "bias_only", "layer_norm", "x", along_centred_x,
            layer_formula(1e-2, [](double r, double g, double x, double sum_g, double sum_gx,
                                    double d) { return r * (g - sum_g / d - x * sum_gx / (d - 1)); })},
        {"layer_norm: both statistics constant", "layer_norm", "gain_only", "layer_norm", "x", along_centred_x,
            layer_formula(1e-5, [](double r, double g, double, double, double, double) { return r * g; })},
        {"layer_norm: epsilon dropped", "layer_norm", "affine", "layer_norm", "x", epsilon,
            derivative_of([](Vars x) { return layer_norm(x[0], x[1], x[2], 1e-300); })},
        {"layer_norm: gain forgotten", "layer_norm", "gain_only", "layer_norm", "x", gain,
            derivative_of([](Vars x) { return layer_norm(x[0], {}, {}, 1e-5); })},
        {"layer_norm: bias keeps the last row", "layer_norm", "affine", "layer_norm", "beta", not_summed, last_only(2)},
        {"rms_norm_floor: statistic's term below the floor", "rms_norm_floor", "both_sides", "rms_norm_floor", "x",
            branch, derivative_of([](Vars x) { return rms_norm_floor(x[0], 1e-12); })},
        {"rms_norm_floor: statistic constant", "rms_norm_floor", "row_of_eleven", "rms_norm_floor", "x", along_x,
            derivative_of([](Vars x) { return x[0] * stop_gradient(rsqrt(mean(square(x[0]), -1, true))); })},
        {"l2_normalize: projection missing", "l2_normalize", "additive", "l2_normalize", "x", along_x,
            derivative_of([](Vars x) { return x[0] * stop_gradient(rsqrt(sum(square(x[0]), -1, true) + 0.1)); })},
        {"l2_normalize: floor ignored", "l2_normalize", "both_sides", "l2_normalize", "x", branch,
            derivative_of([](Vars x) { return l2_normalize(x[0], 1e-12); })},
        // of vllm-metal#691, mlxcel#316: the axis of the norm
        {"qk_norm_per_head: over the whole projection", "qk_norm_per_head", "batch", "rms_norm", "x", should_be_zero,
            derivative_of([](Vars x) {
                const auto s = x[0].shape();
                const auto rows = reshape(x[0], {static_cast<std::ptrdiff_t>(s.size() / 4), 4});
                return reshape(rms_norm(rows, {}, 1e-2), {2, 2, 2, 2});
            })},
        {"qk_norm_whole: per head", "qk_norm_whole", "batch", "rms_norm", "x", zeroed, derivative_of([](Vars x) {
             return reshape(rms_norm(reshape(x[0], {2, 2, 2, 2}), {}, 1e-2), {2, 2, 4});
         })},
        {"qknorm_scores: projection of k missing", "qknorm_scores", "additive", "l2_normalize", "x", along_x,
            derivative_of([](Vars x) { return x[0] * stop_gradient(rsqrt(sum(square(x[0]), -1, true) + 0.1)); })},
        // ---- gated units
        {"swiglu_act: +1 lost", "swiglu_act", "gpt_oss", "swiglu_act", "g", slopes, // of sglang#39939
            derivative_of([](Vars x) {
                return swiglu_act(x[0], x[1], {1.702, 2.0, 2.0, 0.0});
            })},
        {"swiglu_act: alpha lost", "swiglu_act", "gpt_oss", "swiglu_act", "g", slopes, derivative_of([](Vars x) {
             return swiglu_act(x[0], x[1], {1.0, 2.0, 2.0, 1.0});
         })},
        {"swiglu_act: gate clamped on both sides", "swiglu_act", "gpt_oss", "swiglu_act", "g", zeroed,
            derivative_of([](Vars x) {
                return swiglu_act(clamp(x[0], -2.0, 2.0), x[1], {1.702, {}, 2.0, 1.0});
            })},
        {"swiglu_act: limit read as 0", "swiglu_act", "gate_clamp", "swiglu_act", "g", zeroed, // of onnxruntime#27221
            only(0, derivative_of([](Vars x) {
                return swiglu_act(minimum(x[0], x[0].tape().constant(1e-300)), x[1], {0.7, {}, {}, -0.5});
            }))},
        {"swiglu_act: clamp of u never closed", "swiglu_act", "up_clamp", "swiglu_act", "u", should_be_zero,
            only(1, derivative_of([](Vars x) {
                return swiglu_act(x[0], x[1], {-1.3, {}, {}, 0.0});
            }))},
        {"gpt_oss_packed: halves for neighbours", "gpt_oss_packed", "rows", "gpt_oss_packed", "p", misplaced,
            derivative_of([](Vars x) {
                return swiglu_act(slice(x[0], "[:, :9]"), slice(x[0], "[:, 9:]"), {1.702, 2.0, 2.0, 1.0});
            })},
        {"gpt_oss_packed: +1 lost", "gpt_oss_packed", "inside", "gpt_oss_packed", "p", slopes,
            derivative_of([](Vars x) {
                return swiglu_act(slice(x[0], "[::2]"), slice(x[0], "[1::2]"), {1.702, 7.0, 7.0, 0.0});
            })},
        {"reglu: never closed", "reglu", "", "reglu", "g", should_be_zero,
            slope(0, [](const Backward& c, std::size_t i) { return c.in[1][i]; })},
        {"geglu: slope of gelu_tanh", "geglu", "", "geglu", "g", small_term,
            derivative_of([](Vars x) { return gelu_tanh(x[0]) * x[1]; })},
        // ---- layers without a norm
        {"dyt: alpha keeps the last element's", "dyt", "affine", "dyt", "alpha", not_summed, last_only(1)},
        {"dyt: alpha's gradient is a mean", "dyt", "plain", "dyt", "alpha", factor, scaled(1, 1. / 22)},
        {"dyt: alpha lost", "dyt", "affine", "dyt", "x", slopes,
            slope(0, [](const Backward& c, std::size_t i) { return c.in[2][i % 5] * sech2(c.in[0][i]); })},
        {"dyt: 1 - x^2", "dyt", "plain", "dyt", "x", slopes,
            slope(0, [](const Backward& c, std::size_t i) { return c.in[1][0] * (1 - c.in[0][i] * c.in[0][i]); })},
        {"dyisru_softplus: slope of softplus missing", "dyisru_softplus", "affine", "dyisru_softplus", "r", factor,
            then([](const Backward& c) {
                if (c.gx[1]) c.gx[1][0] /= sigma(c.in[1][0]);
            })},
        {"dyisru_b: the half lost", "dyisru_b", "plain", "dyisru_b", "b", factor, scaled(1, 2)},
        {"dyisru_b: statistic constant", "dyisru_b", "affine", "dyisru_b", "x", slopes,
            slope(0, [](const Backward& c,
                         std::size_t i) { return c.in[2][i % 5] / std::hypot(c.in[0][i], std::sqrt(c.in[1][0])); })},
        // ---- attention
        {"rope: turned forwards", "rope", "halves", "rope", "x", transposed, forwards(0)},
        {"rope: neighbours for halves", "rope", "halves", "rope", "x", misplaced, derivative_of([](Vars x) {
             RopeOptions o;
             o.base = 100;
             o.style = RopeStyle::interleaved;
             return rope(x[0], o);
         })},
        {"sdpa: scale lost", "sdpa", "cross", "sdpa", "q", factor, scaled(0, 4)},
        {"sdpa: D missing", "sdpa", "cross", "sdpa", "q", rank_one, only(0, derivative_of([](Vars x) {
             const Var<double> s = 0.25 * matmul(x[0], transpose(x[1], {0, 2, 1}));
             return matmul(exp(s - stop_gradient(logsumexp(s, -1, true))), x[2]);
         }))},
        {"sdpa: causal off by one", "sdpa", "grouped_causal", "sdpa", "v", should_be_zero,
            only(2, derivative_of(one_more))},
        {"sdpa: mask ignored", "sdpa", "hidden_row", "sdpa", "v", should_be_zero,
            only(2, derivative_of([](Vars x) { return sdpa(x[0], x[1], x[2]); }))},
        {"sdpa: heads tiled", "sdpa", "grouped_causal", "sdpa", "k", misplaced,
            only(1, derivative_of([](Vars x) { return sdpa(x[0], tiled(x[1], 2), tiled(x[2], 2), causal()); }))},
        {"sdpa: the last head of a group wins", "sdpa", "grouped_causal", "sdpa", "v", not_summed,
            only(2, of_cotangent([](std::vector<double>& gy, const Backward& c) {
                const std::size_t head = gy.size() / c.in[0].shape->begin()[0];
                for (std::size_t i = 0; i < gy.size(); ++i)
                    if (i / head % 2 == 0) gy[i] = 0;
            }))},
        {"sdpa: P not transposed", "sdpa", "two_tiles", "sdpa", "v", transposed, forwards(2)},
        {"sdpa_sinks: column dropped", "sdpa_sinks", "grouped_causal", "sdpa_sinks", "sinks", never_written,
            scaled(3, 0)},
        {"sdpa_sinks: sign", "sdpa_sinks", "hidden_row", "sdpa_sinks", "sinks", sign, scaled(3, -1)},
        {"sdpa_sinks: column left out of P", "sdpa_sinks", "hidden_row", "sdpa_sinks", "v", gain,
            only(2, derivative_of([](Vars x) { return sdpa(x[0], x[1], x[2], {}, x[4]); }))},
        {"sdpa_qknorm: d rms/dx missing", "sdpa_qknorm", "per_head", "rms_norm", "x", along_x,
            rms_formula(1e-3, [](double r, double w, double gy, double, double, double) { return r * w * gy; })},
        // ---- hyper-connections
        {"sinkhorn_log: unroll cut short", "sinkhorn_log", "four_streams", "sinkhorn_log", "m", small_term,
            derivative_of([](Vars x) { return sinkhorn_log(x[0], rows_first(8)); })},
        {"sinkhorn_log: columns not normalised", "sinkhorn_log", "one_round", "sinkhorn_log", "m", zeroed,
            derivative_of([](Vars x) { return softmax(x[0]); })},
        {"mhc_mix_fixed: A not transposed", "mhc_mix_fixed", "two_streams", "mhc_mix_fixed", "X", transposed,
            forwards(0)},
        {"mhc_mix_param: A taken as constant", "mhc_mix_param", "two_streams", "mhc_mix_param", "m", never_written,
            scaled(1, 0)},
        {"mhc_mix_xdep: A(X) taken as constant", "mhc_mix_xdep", "two_streams", "mhc_mix_xdep", "X",
            rank_one, // a 2 x 2 A is one number
            only(0, derivative_of([](Vars x) {
                const Var<double> z = reshape(matmul(reshape(x[0], {1, 6}), x[1]), {2, 2});
                return matmul(stop_gradient(sinkhorn_log(x[3] * z + x[2], rows_first(20))), x[0]);
            }))},
        {"mhc_mix_xdep: alpha lost in W", "mhc_mix_xdep", "two_streams", "mhc_mix_xdep", "W", factor,
            then([](const Backward& c) {
                for (std::size_t i = 0; c.gx[1] && i < c.gx[1].size(); ++i) c.gx[1][i] /= c.in[3][0];
            })},
    };
}

} // namespace

const std::vector<Exhibit>& exhibits() {
    static const std::vector<Exhibit> list = [] {
        std::vector<Exhibit> all = plain_exhibits(), edges = edge_exhibits();
        all.insert(all.end(), edges.begin(), edges.end());
        return all;
    }();
    return list;
}

Sample sample_of(const Exhibit& exhibit, Generator& rng) {
    if (exhibit.own_sample) return exhibit.own_sample(rng);
    const std::vector<Sample> samples = find_op(exhibit.op).samples(rng);
    for (const Sample& sample : samples)
        if (exhibit.sample[0] == '\0' || sample.name == exhibit.sample) return sample;
    throw Error(std::string("gallery: ") + exhibit.op + " has no sample '" + exhibit.sample + "'");
}

} // namespace chalkgrad::gallery
