// The table of wrong backwards of what layers are made of: norms, gated units, attention, hyper-connections. "of ...#n" names the
// published bug.
#include "mutants.hpp"

#include <cmath>

#include <chalkgrad/chalkgrad.hpp>

namespace chalkgrad::gallery {
namespace {

using Vars = const std::vector<Var<double>>&;

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

SinkhornOptions rows_first(std::ptrdiff_t iterations) {
    return {iterations, SinkhornOrder::rows_first, SinkhornGradient::unrolled};
}

} // namespace

std::vector<Exhibit> layer_exhibits() {
    using enum Cause;
    return {
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

} // namespace chalkgrad::gallery
