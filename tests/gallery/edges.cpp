// Wrong backwards that are right almost everywhere: in all rows but one, on one side, beyond a limit, to single precision.
#include <cmath>

#include <chalkgrad/chalkgrad.hpp>

#include "mutants.hpp"

namespace chalkgrad::gallery {
namespace {

using Vars = const std::vector<Var<double>>&;

/// The right gradient of operand k, changed element by element: f(call, i, right).
WrongVjp element(std::size_t k, std::function<double(const Backward&, std::size_t, double)> f) {
    return then([=](const Backward& c) {
        for (std::size_t i = 0; c.gx[k] && i < c.gx[k].size(); ++i) c.gx[k][i] = f(c, i, c.gx[k][i]);
    });
}

WrongVjp in_single_precision(std::size_t k) {
    return element(
        k, [](const Backward&, std::size_t, double g) { return static_cast<double>(static_cast<float>(g)); });
}

/// Of x beyond the limit on either side, this slope.
WrongVjp slope_where(std::function<bool(double x)> there, double wrong) {
    return element(
        0, [=](const Backward& c, std::size_t i, double g) { return there(c.in[0][i]) ? c.gy[i] * wrong : g; });
}

/// Operand k hears of some outputs only.
WrongVjp deaf_to(std::size_t k, std::function<bool(const Backward&, std::size_t i)> lost) {
    return only(k, of_cotangent([=](std::vector<double>& gy, const Backward& c) {
        for (std::size_t i = 0; i < gy.size(); ++i)
            if (lost(c, i)) gy[i] = 0;
    }));
}
WrongVjp deaf_to_first_row(std::size_t k) {
    return deaf_to(k, [](const Backward& c, std::size_t i) { return i < c.y.last(); });
}

double mean_square(const Backward& c, std::size_t row) {
    const std::size_t d = c.in[0].last();
    double sum = 0;
    for (std::size_t j = 0; j < d; ++j) sum += c.in[0][row * d + j] * c.in[0][row * d + j];
    return sum / static_cast<double>(d);
}

/// rms_norm's backward with another reciprocal of the root: r(call, row).
WrongVjp reciprocal_root(std::function<double(const Backward&, std::size_t row)> r_of) {
    return then([=](const Backward& c) {
        const std::size_t d = c.in[0].last();
        for (std::size_t t = 0; c.gx[0] && t < c.in[0].rows(); ++t) {
            const double *x = c.in[0].data + t * d, r = r_of(c, t);
            double m = 0;
            const auto g = [&](std::size_t j) { return (c.in[1] ? c.in[1][j] : 1) * c.gy[t * d + j]; };
            for (std::size_t j = 0; j < d; ++j) m += g(j) * x[j] * r / static_cast<double>(d);
            for (std::size_t j = 0; j < d; ++j) c.gx[0][t * d + j] = r * (g(j) - x[j] * r * m);
        }
    });
}

/// softmax's backward with a sum of gy y of the author's own: dot(call, first of the row, row length).
WrongVjp softmax_dot(std::function<double(const Backward&, std::size_t first, std::size_t d)> dot) {
    return then([=](const Backward& c) {
        const std::size_t d = c.in[0].last();
        for (std::size_t i = 0; i < c.y.size(); i += d) {
            const double sum = dot(c, i, d);
            for (std::size_t j = i; j < i + d; ++j) c.gx[0][j] = c.y[j] * (c.gy[j] - sum);
        }
    });
}
double dot(const Backward& c, std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t j = from; j < to; ++j) sum += c.gy[j] * c.y[j];
    return sum;
}

/// The gradients of operand k at the places `to` gives.
WrongVjp displaced(std::size_t k, std::function<std::size_t(std::size_t i)> to) {
    return then([=](const Backward& c) {
        if (!c.gx[k]) return;
        const std::vector<double> right(c.gx[k].data, c.gx[k].data + c.gx[k].size());
        for (std::size_t i = 0; i < right.size(); ++i) c.gx[k][to(i)] = right[i];
    });
}

/// sdpa's sample "capped_window" step by step, with or without its window and the slope of its cap.
Var<double> capped(Vars x, bool window, bool slope_of_cap) {
    const std::size_t t = x[0].shape()[1];
    Array<double> mask = Array<double>::from_shape({t, t});
    for (std::size_t i = 0; i < t; ++i)
        for (std::size_t j = 0; j < t; ++j) mask(i, j) = j <= i && (!window || j + 2 > i) ? 0 : -HUGE_VAL;
    const Var<double> s = 0.5 * matmul(x[0], transpose(repeat_kv(x[1], 2), {0, 2, 1})), cap = softcap(s, 1.5);
    return matmul(
        softmax(slope_of_cap ? cap : s + stop_gradient(cap - s), -1, x[0].tape().constant(mask)), repeat_kv(x[2], 2));
}

/// The right gradient of what a limit, a choice or a cast makes of the cotangent.
WrongVjp of_largest(std::function<double(double g, double most)> change) {
    return of_cotangent([=](std::vector<double>& gy, const Backward&) {
        double most = 0;
        for (const double g : gy) most = std::max(most, std::abs(g));
        for (double& g : gy) g = change(g, most);
    });
}
/// A row that was broadcast gets this of each column of gy, where it should get the sum.
WrongVjp column(std::function<double(double so_far, double g)> add) {
    return only(1, [=](const Backward& c) {
        std::fill_n(c.gx[1].data, c.gx[1].size(), 0.);
        for (std::size_t i = 0; i < c.gy.size(); ++i) {
            double& g = c.gx[1][i % c.gx[1].size()];
            g = add(g, c.gy[i]);
        }
    });
}

Sample near_limits(Generator&) {
    return {
        "near_limits", {{"x", Array<double>{2 - 1e-4, 2 + 1e-4, -1.5 + 1e-4, 0.5}}}, {}, {{"min", -1.5}, {"max", 2.0}}};
}

} // namespace

std::vector<Exhibit> edge_exhibits() {
    using enum Cause;
    return {
        // ---- too coarse
        {"exp: off by 1e-7", "exp", "rows", "exp", "x", factor, scaled(0, 1 + 1e-7)},
        {"exp: off by 1e-10", "exp", "rows", "exp", "x", factor, scaled(0, 1 + 1e-10)},
        {"exp: off by 1e-11", "exp", "rows", "exp", "x", factor, scaled(0, 1 + 1e-11)},
        {"log1p: in single precision", "log1p", "rows", "log1p", "x", small_term, in_single_precision(0)},
        {"layer_norm: gain in single precision", "layer_norm", "gain_only", "layer_norm", "gamma", small_term,
            in_single_precision(1)},
        {"relu: leaks 1e-10", "relu", "rows", "relu", "x", should_be_zero,
            slope_where([](double x) { return x < 0; }, 1e-10)},
        // ---- on one side, or beyond a limit
        {"abs: only where x > 0", "abs", "rows", "abs", "x", zeroed, slope_where([](double x) { return x < 0; }, 0)},
        {"silu: another function below 0", "silu", "rows", "silu", "x", slopes,
            element(0, [](const Backward& c, std::size_t i,
                           double g) { return c.in[0][i] < 0 ? c.gy[i] * sigma(c.in[0][i]) : g; })},
        {"silu: 0 below -5", "silu", "tails", "silu", "x", zeroed, slope_where([](double x) { return x < -5; }, 0)},
        {"gelu_erf: 1 above 4", "gelu_erf", "tails", "gelu_erf", "x", small_term,
            slope_where([](double x) { return x > 4; }, 1)},
        {"sigmoid: 0 beyond 5", "sigmoid", "tails", "sigmoid", "x", zeroed,
            slope_where([](double x) { return std::abs(x) > 5; }, 0)},
        {"softplus: 1 above 20", "softplus", "tails", "softplus", "x", small_term,
            slope_where([](double x) { return x > 20; }, 1)},
        {"tanh: 0 beyond 9", "tanh", "tails", "tanh", "x", zeroed,
            slope_where([](double x) { return std::abs(x) > 9; }, 0)},
        {"softcap: 0 beyond the cap", "softcap", "rows", "softcap", "s", zeroed,
            slope_where([](double s) { return std::abs(s) > 5; }, 0)},
        {"clamp: half a slope near the limits", "clamp", "", "clamp", "x", some_elements,
            slope_where([](double x) { return x < 2 && x > 2 - 1e-3; }, 0.5), near_limits},
        {"pow: |x|^p below 0", "pow", "inverse", "pow", "x", sign, scaled(0, -1)},
        {"pow: x |x| for x^2", "pow", "cube", "pow", "x", slopes,
            element(0, [](const Backward& c, std::size_t i, double g) { return c.in[0][i] < 0 ? -g : g; })},
        {"logaddexp: only the larger beyond 3", "logaddexp", "same_shape", "logaddexp", "a", zeroed,
            element(0, [](const Backward& c, std::size_t i, double g) { return c.in[1][i] - c.in[0][i] > 3 ? 0 : g; })},
        {"gpt_oss_packed: up clamped from above only", "gpt_oss_packed", "rows", "gpt_oss_packed", "p", should_be_zero,
            derivative_of([](Vars x) {
                const Var<double> u = slice(x[0], "[:, 1::2]");
                return swiglu_act(slice(x[0], "[:, ::2]"), clamp(u, {}, 2.0), {1.702, 2.0, {}, 1.0});
            })},
        // ---- no linear function of the cotangent
        {"add: a row gets the column's largest", "add", "row", "add", "b", contract,
            column([](double so_far, double g) { return std::abs(g) > std::abs(so_far) ? g : so_far; })},
        {"add: a row is summed in single precision", "add", "row", "add", "b", contract,
            column([](double so_far, double g) {
                return static_cast<double>(static_cast<float>(so_far) + static_cast<float>(g));
            })},
        {"exp: of the largest cotangent alone", "exp", "rows", "exp", "x", contract,
            of_largest([](double g, double most) { return std::abs(g) < most ? 0 : g; })},
        {"exp: cotangents of 0 or the largest", "exp", "rows", "exp", "x", contract,
            of_largest([](double g, double most) { return std::abs(g) < most / 2 ? 0 : std::copysign(most, g); })},
        {"exp: cotangents in single precision", "exp", "rows", "exp", "x", contract,
            of_largest([](double g, double) { return static_cast<double>(static_cast<float>(g)); })},
        {"exp: cotangents up to 1", "exp", "rows", "exp", "x", contract,
            of_largest([](double g, double) { return std::min(1., std::max(-1., g)); })},
        // ---- in some rows, or from some of them
        {"softmax: the row's last left out of the sum", "softmax", "rows", "softmax", "x", rank_one,
            softmax_dot([](const Backward& c, std::size_t i, std::size_t d) { return dot(c, i, i + d - 1); })},
        {"softmax: no sum under a mask", "softmax", "causal", "softmax", "x", rank_one,
            softmax_dot([](const Backward&, std::size_t, std::size_t) { return 0; })},
        {"rms_norm: the gain lost where x_j meets itself", "rms_norm", "row_of_eleven", "rms_norm", "x", some_elements,
            then([](const Backward& c) {
                const std::size_t d = c.in[0].last();
                for (std::size_t i = 0; c.gx[0] && i < c.gy.size(); ++i)
                    c.gx[0][i] += (1 - c.in[1][i % d]) * c.gy[i] / std::sqrt(mean_square(c, i / d) + 1e-5);
            })},
        {"softmax: the sum goes on from row to row", "softmax", "rows", "softmax", "x", should_be_zero,
            softmax_dot([](const Backward& c, std::size_t i, std::size_t d) { return dot(c, 0, i + d); })},
        {"softmax: no sum beyond a vector", "softmax", "beyond_a_vector", "softmax", "x", rank_one,
            softmax_dot([](const Backward& c, std::size_t i, std::size_t) { return dot(c, i, i + 8); })},
        {"softmax: causal rows of one key", "softmax", "causal", "softmax", "x", zeroed,
            deaf_to(0, [](const Backward&, std::size_t i) { return i / 4 % 4 == 3; })},
        {"layer_norm: gain's gradient begins at row 1", "layer_norm", "affine", "layer_norm", "gamma", not_summed,
            deaf_to_first_row(1)},
        {"layer_norm: bias averaged over the rows", "layer_norm", "affine", "layer_norm", "beta", factor,
            scaled(2, 0.25)},
        {"layer_norm: gain's gradient of x", "layer_norm", "affine", "layer_norm", "gamma", slopes,
            only(1,
                [](const Backward& c) {
                    const std::size_t d = c.y.last();
                    std::fill_n(c.gx[1].data, d, 0.);
                    for (std::size_t i = 0; i < c.gy.size(); ++i) c.gx[1][i % d] += c.gy[i] * c.in[0][i];
                })},
        {"layer_norm: the last row is not centred", "layer_norm", "gain_only", "layer_norm", "x", mean_of_cotangent,
            element(0, [](const Backward& c, std::size_t i,
                           double g) { return i >= c.y.size() - c.y.last() ? g + 0.1 * c.gy[c.y.size() - 1] : g; })},
        {"rms_norm: epsilon beside the root", "rms_norm", "no_gain", "rms_norm", "x", statistic,
            reciprocal_root([](const Backward& c, std::size_t t) { return 1 / (std::sqrt(mean_square(c, t)) + 0.1); })},
        {"rms_norm: epsilon under the mean", "rms_norm", "no_gain", "rms_norm", "x", statistic,
            reciprocal_root(
                [](const Backward& c, std::size_t t) { return 1 / std::sqrt(mean_square(c, t) + 0.1 / 3); })},
        {"rms_norm: the root of the row before", "rms_norm", "row_of_eleven", "rms_norm", "x", statistic,
            reciprocal_root([](const Backward& c, std::size_t t) {
                return 1 / std::sqrt(mean_square(c, t > 0 ? t - 1 : 0) + 1e-5);
            })},
        {"rms_norm: a number's gain hears the last row", "rms_norm", "number_gain", "rms_norm", "gamma", not_summed,
            deaf_to(1, [](const Backward& c, std::size_t i) { return i + c.y.last() < c.y.size(); })},
        {"qk_norm_whole: the gain of head 0 for all", "qk_norm_whole", "two_heads", "rms_norm", "x", gain,
            derivative_of([](Vars x) {
                const Var<double> g = slice(x[1], "[:3]");
                return rms_norm(x[0], concat(std::vector<Var<double>>{g, g}, 0), 1e-3);
            })},
        {"dyt: gain's gradient begins at row 1", "dyt", "affine", "dyt", "gamma", not_summed, deaf_to_first_row(2)},
        {"dyisru_b: b hears the last row", "dyisru_b", "row_of_b", "dyisru_b", "b", not_summed, last_only(1)},
        {"cross_entropy: class 0 is taken for ignored", "cross_entropy", "mean", "cross_entropy", "logits", zeroed,
            element(0, [](const Backward& c, std::size_t i, double g) { return i / c.in[0].last() % 2 == 1 ? 0 : g; })},
        {"embedding: id 0 is taken for padding", "embedding", "repeated", "embedding", "table", zeroed,
            element(0, [](const Backward&, std::size_t i, double g) { return i < 3 ? 0 : g; })},
        {"rope: the third position turns like the second", "rope", "halves", "rope", "x", slopes,
            element(0, [](const Backward& c, std::size_t i, double g) { return i / 10 % 3 == 2 ? c.gy[i] : g; })},
        {"rope: the offset lost", "rope", "neighbours", "rope", "x", slopes, derivative_of([](Vars x) {
             RopeOptions o;
             o.style = RopeStyle::interleaved;
             return rope(x[0], o);
         })},
        {"rope: what stays is zero", "rope", "some_stay", "rope", "x", zeroed,
            element(0, [](const Backward&, std::size_t i, double g) { return i % 11 < 4 ? g : 0; })},
        // ---- sums over broadcast axes, axes, batches
        {"mul: both broadcast, b the wrong way round", "mul", "both", "mul", "b", misplaced,
            displaced(1, [](std::size_t i) { return 1 - i; })},
        {"sub: both broadcast, averaged", "sub", "both", "sub", "b", factor, scaled(1, 1. / 12)},
        {"add: a row counted twice", "add", "row", "add", "b", factor, scaled(1, 2)},
        {"where: one of the broadcast axes is summed", "where", "broadcast", "where", "b", not_summed,
            deaf_to(1, [](const Backward& c, std::size_t i) { return i % c.y.last() != 0; })},
        {"minimum: a number gets the mean", "minimum", "number", "minimum", "b", factor, scaled(1, 1. / 6)},
        {"mean: one of two axes counted", "mean", "apart", "mean", "x", factor, scaled(0, 4)},
        {"var_biased: the mean of the last axis only", "var_biased", "apart", "var_biased", "x", slopes,
            derivative_of([](Vars x) { return mean(var_biased(x[0], -1), 0); })},
        {"logsumexp: one axis after the other, the first as a mean", "logsumexp", "apart", "logsumexp", "x", slopes,
            derivative_of([](Vars x) { return mean(logsumexp(x[0], -1), 0); })},
        {"log_softmax: the last axis for the first", "log_softmax", "columns", "log_softmax", "x", misplaced,
            derivative_of([](Vars x) { return log_softmax(x[0], -1); })},
        {"matmul: a broadcast batch keeps the first", "matmul", "both_broadcast", "matmul", "a", not_summed,
            deaf_to(0, [](const Backward&, std::size_t i) { return i / 6 % 3 != 0; })},
        {"matmul: dot gives an operand its own", "matmul", "dot", "matmul", "a", slopes,
            only(0,
                [](const Backward& c) {
                    for (std::size_t i = 0; i < 7; ++i) c.gx[0][i] = c.gy[0] * c.in[0][i];
                })},
        {"slice: backwards is read forwards", "slice", "backwards", "slice", "x", misplaced,
            displaced(0, [](std::size_t i) { return 19 - i; })},
        {"repeat_kv: averaged", "repeat_kv", "batched", "repeat_kv", "k", factor, scaled(0, 1. / 6)},
        {"swiglu_act: g and u exchanged", "swiglu_act", "plain", "swiglu_act", "g", slopes, then([](const Backward& c) {
             if (c.gx[0] && c.gx[1]) std::swap_ranges(c.gx[0].data, c.gx[0].data + c.gx[0].size(), c.gx[1].data);
             else if (c.gx[0])
                 for (std::size_t i = 0; i < c.gy.size(); ++i) c.gx[0][i] = c.gy[i] * c.in[0][i] * sigma(c.in[0][i]);
         })},
        // ---- attention and hyper-connections
        {"sdpa: window ignored", "sdpa", "capped_window", "sdpa", "v", should_be_zero,
            only(2, derivative_of([](Vars x) { return capped(x, false, true); }))},
        {"sdpa: slope of the cap lost", "sdpa", "capped_window", "sdpa", "q", gain,
            only(0, derivative_of([](Vars x) { return capped(x, true, false); }))},
        {"sdpa: the second tile forgotten", "sdpa", "two_tiles", "sdpa", "k", zeroed,
            element(1, [](const Backward&, std::size_t i, double g) { return i < 32 ? g : 0; })},
        {"sdpa: a bias for all queries keeps the last", "sdpa", "bias_for_all_queries", "sdpa", "mask", not_summed,
            deaf_to(3, [](const Backward&, std::size_t i) { return i % 2 == 0; })},
        {"sdpa_sinks: a mean over the queries", "sdpa_sinks", "grouped_causal", "sdpa_sinks", "sinks", factor,
            scaled(3, 1. / 3)},
        {"sdpa_sinks: the sink of the next head", "sdpa_sinks", "grouped_causal", "sdpa_sinks", "sinks", misplaced,
            displaced(3, [](std::size_t i) { return (i + 1) % 4; })},
        {"sinkhorn_log: rows and columns in the other order", "sinkhorn_log", "columns_first", "sinkhorn_log", "m",
            unknown, derivative_of([](Vars x) {
                return sinkhorn_log(x[0], {2, SinkhornOrder::rows_first, SinkhornGradient::unrolled});
            })},
        {"mhc_mix_param: the last set of streams only", "mhc_mix_param", "batch", "mhc_mix_param", "m", not_summed,
            deaf_to(1, [](const Backward&, std::size_t i) { return i < 20; })},
        {"mhc_mix_xdep: X read column by column", "mhc_mix_xdep", "two_streams", "mhc_mix_xdep", "W", misplaced,
            displaced(1, [](std::size_t i) { return i / 4 % 3 * 8 + i / 12 * 4 + i % 4; })},
    };
}

} // namespace chalkgrad::gallery
