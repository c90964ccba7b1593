// The table of wrong backwards, up to activations. "of ...#n" names the published bug.
#include "mutants.hpp"

#include <cmath>
#include <numbers>

#include <chalkgrad/chalkgrad.hpp>

namespace chalkgrad::gallery {
namespace {

using Vars = const std::vector<Var<double>>&;

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

Sample tied(Generator&) {
    return {"tied", {{"x", Array<double>{{1, 3, 3, 2}, {5, -1, 0, 2}}}}, {}, {{"axes", std::vector<double>{-1}}}};
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
        {"repeat_kv: tiled", "repeat_kv", "two_to_four", "repeat_kv", "k", misplaced, derivative_of([](Vars x) {
             return concat(std::vector{x[0], x[0]}, 0);
         })},
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
    };
}

} // namespace

const std::vector<Exhibit>& exhibits() {
    static const std::vector<Exhibit> list = [] {
        std::vector<Exhibit> all = plain_exhibits();
        for (const auto& more : {layer_exhibits(), edge_exhibits()}) all.insert(all.end(), more.begin(), more.end());
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
