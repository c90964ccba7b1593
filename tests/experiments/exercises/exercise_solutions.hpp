// Solutions of the exercises, as the lines that belong into a starter, and typical wrong ones with what a student is
// told.
#pragma once

#include <string>
#include <vector>

namespace chalkgrad::testing {

struct WrongSolution {
    std::string from, to; ///< what stands in the right lines, and what a student wrote
    std::string says;     ///< part of the message
};

struct SolvedExercise {
    std::string name, lines;
    std::vector<WrongSolution> wrong;
};

inline const std::vector<SolvedExercise>& solved_exercises() {
    static const std::vector<SolvedExercise> all = {
        {"linear",
            R"(
    for (std::size_t t = 0; t < x.shape(0); ++t)
        for (std::size_t i = 0; i < w.shape(0); ++i)
            for (std::size_t j = 0; j < w.shape(1); ++j) {
                gx(t, i) += gy(t, j) * w(i, j);
                gw(i, j) += x(t, i) * gy(t, j);
            }
)",
            {{"gw(i, j) += x", "gw(i, j) = x", "gw adds up over the rows"},
                {"gy(t, j) * w(i, j)", "gy(t, j) * w(j % w.shape(0), i % w.shape(1))", "wᵀ belongs"},
                {"gx(t, i) +=", "gx(t, i) -=", "sign"}}},
        {"silu",
            R"(
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double s = sigmoid(x.data()[i]);
        gx.data()[i] = gy.data()[i] * (s + x.data()[i] * s * (1 - s));
    }
)",
            {{"s + x.data()[i] * s * (1 - s)", "s", "two terms"},
                {"s + x.data()[i] * s * (1 - s)", "s * (1 - s)", "two terms"}}},
        {"swiglu",
            R"(
    for (std::size_t i = 0; i < g.size(); ++i) {
        const double z = g.data()[i], s = sigmoid(z);
        gg.data()[i] = gy.data()[i] * u.data()[i] * (s + z * s * (1 - s));
        gu.data()[i] = gy.data()[i] * z * s;
    }
)",
            {{"gy.data()[i] * u.data()[i] *", "gy.data()[i] *", "u"}, {"* z * s;", "* s;", "the whole SiLU"},
                {"(s + z * s * (1 - s))", "s", "SiLU′ both its terms"}}},
        {"gpt_oss",
            R"(
    for (std::size_t i = 0; i < g.size(); ++i) {
        const double a = std::min(g.data()[i], limit), b = std::clamp(u.data()[i], -limit, limit), s = sigmoid(alpha * a);
        const bool open_g = g.data()[i] <= limit, open_u = std::abs(u.data()[i]) <= limit;
        if (open_g) gg.data()[i] = gy.data()[i] * (b + 1) * (s + alpha * a * s * (1 - s));
        if (open_u) gu.data()[i] = gy.data()[i] * a * s;
    }
)",
            {{"if (open_g) ", "", "Above 7 the gate is clamped"}, {"if (open_u) ", "", "Outside −7 … 7"},
                {"(b + 1)", "b", "the 1 of b + 1"}, {"s + alpha * a", "s + a", "the 1 of b + 1 there, and α"},
                {"g.data()[i] <= limit,", "std::abs(g.data()[i]) <= limit,", "from above only"}}},
        {"dyt",
            R"(
    for (std::size_t t = 0; t < x.shape(0); ++t)
        for (std::size_t j = 0; j < x.shape(1); ++j) {
            const double h = std::tanh(alpha() * x(t, j)), slope = gy(t, j) * gamma(j) * (1 - h * h);
            gx(t, j) = slope * alpha();
            galpha() += slope * x(t, j);
            ggamma(j) += gy(t, j) * h;
            gbeta(j) += gy(t, j);
        }
)",
            {{"slope * alpha()", "slope", "the inner derivative"},
                {"galpha() +=", "galpha() =", "a sum over rows and features"},
                {"ggamma(j) +=", "ggamma(j) =", "adds up over the rows"},
                {"gbeta(j) +=", "gbeta(j) =", "adds up over the rows"}, {"gamma(j) * (1", "(1", "is γ_j there"}}},
        {"softmax",
            R"(
    for (std::size_t t = 0; t < x.shape(0); ++t) {
        double mean = 0;
        for (std::size_t j = 0; j < x.shape(1); ++j) mean += gy(t, j) * y(t, j);
        for (std::size_t j = 0; j < x.shape(1); ++j) gx(t, j) = y(t, j) * (gy(t, j) - mean);
    }
)",
            {{"(gy(t, j) - mean)", "gy(t, j)", "depends on every score"},
                {"y(t, j) * (gy(t, j) - mean)", "y(t, j) * (1 - y(t, j)) * gy(t, j)", "only the diagonal"},
                {"mean += gy(t, j) * y(t, j)", "mean += gy(t, j)", "Σ_k gy_k y_k"}}},
        {"rms_norm",
            R"(
    const double d = double(x.shape(1));
    for (std::size_t t = 0; t < x.shape(0); ++t) {
        const double r = inverse_rms(x, t);
        double mean = 0;
        for (std::size_t j = 0; j < x.shape(1); ++j) mean += r * x(t, j) * gamma(j) * gy(t, j) / d;
        for (std::size_t j = 0; j < x.shape(1); ++j) {
            gx(t, j) = r * (gamma(j) * gy(t, j) - r * x(t, j) * mean);
            ggamma(j) += r * x(t, j) * gy(t, j);
        }
    }
)",
            {{" - r * x(t, j) * mean", "", "r depends on x too"}, {"gy(t, j) / d;", "gy(t, j);", "its 1/d"},
                {"ggamma(j) += r * x", "ggamma(j) = r * x", "adds up over the rows"},
                {"ggamma(j) += r * x", "ggamma(j) += x", "the normalised row"},
                {"r * x(t, j) * gamma(j) * gy", "r * x(t, j) * gy", "is γ inside that mean"},
                {"gamma(j) * gy(t, j) - r", "gy(t, j) - r", "gy meets γ first"},
                {"const double r = inverse_rms(x, t);",
                    "const double r = 1 / std::sqrt(1 / std::pow(inverse_rms(x, t), 2) - eps);", "near ε"}}},
        {"layer_norm",
            R"(
    const double d = double(x.shape(1));
    for (std::size_t t = 0; t < x.shape(0); ++t) {
        const auto [mu, s] = statistics(x, t);
        double mean = 0, along = 0;
        for (std::size_t j = 0; j < x.shape(1); ++j) {
            const double h = gamma(j) * gy(t, j);
            mean += h / d;
            along += h * s * (x(t, j) - mu) / d;
        }
        for (std::size_t j = 0; j < x.shape(1); ++j) {
            const double n = s * (x(t, j) - mu);
            gx(t, j) = s * (gamma(j) * gy(t, j) - mean - n * along);
            ggamma(j) += n * gy(t, j);
            gbeta(j) += gy(t, j);
        }
    }
)",
            {{" - mean - n", " - n", "The mean depends on x too"},
                {" - mean - n * along", " - mean", "The variance depends on x too"},
                {"ggamma(j) += n", "ggamma(j) += x(t, j)", "centred, scaled"},
                {"gbeta(j) +=", "gbeta(j) =", "adds up over the rows"},
                {"gamma(j) * gy(t, j) - mean", "gy(t, j) - mean", "gy meets γ first"}}},
        {"l2_normalize",
            R"(
    for (std::size_t t = 0; t < x.shape(0); ++t) {
        const double size = length(x, t);
        double along = 0;
        for (std::size_t j = 0; j < x.shape(1); ++j) along += x(t, j) * gy(t, j);
        if (size < eps) along = 0;
        for (std::size_t j = 0; j < x.shape(1); ++j)
            gx(t, j) = (gy(t, j) - x(t, j) * along / (size * size)) / std::max(size, eps);
    }
)",
            {{" - x(t, j) * along / (size * size)", "", "The length depends on x too"},
                {"if (size < eps) along = 0;", "", "without the term along u"},
                {"along / (size * size)", "along / size", "u = x/‖x‖"}}},
        {"rope",
            R"(
    const std::size_t d = x.shape(1), half = d / 2;
    for (std::size_t t = 0; t < x.shape(0); ++t)
        for (std::size_t i = 0; i < half; ++i) {
            const double c = std::cos(angle(t, i, d)), s = std::sin(angle(t, i, d));
            gx(t, i) = gy(t, i) * c + gy(t, i + half) * s;
            gx(t, i + half) = -gy(t, i) * s + gy(t, i + half) * c;
        }
)",
            {{"s = std::sin", "s = -std::sin", "swap the sign of sin"},
                {"gy(t, i) * c + gy(t, i + half) * s", "gy(t, i) * c", "two terms"}}},
        {"attention",
            R"(
    const std::size_t T = q.shape(0), d = q.shape(1);
    const double scale = 1 / std::sqrt(double(d));
    const Array<double> p = weights(q, k);
    for (std::size_t i = 0; i < T; ++i) {
        std::vector<double> gp(T);
        double mean = 0;
        for (std::size_t j = 0; j <= i; ++j) {
            for (std::size_t l = 0; l < v.shape(1); ++l) {
                gp[j] += gy(i, l) * v(j, l);
                gv(j, l) += p(i, j) * gy(i, l);
            }
            mean += gp[j] * p(i, j);
        }
        for (std::size_t j = 0; j <= i; ++j) {
            const double gs = p(i, j) * (gp[j] - mean) * scale;
            for (std::size_t l = 0; l < d; ++l) {
                gq(i, l) += gs * k(j, l);
                gk(j, l) += gs * q(i, l);
            }
        }
    }
)",
            {{"(gp[j] - mean) * scale", "(gp[j] - mean)", "divided by √d"},
                {"(gp[j] - mean)", "gp[j]", "The softmax's second term"},
                {"gv(j, l) += p(i, j) * gy(i, l)", "gv(i, l) += p(i, j) * gy(j, l)", "p is transposed"}}},
        {"sinkhorn",
            R"(
    const std::size_t n = m.shape(0);
    const Array<double> rows = xt::exp(normalize_rows(m));
    gm = gy * y;
    for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += gm(i, j);
        for (std::size_t i = 0; i < n; ++i) gm(i, j) -= y(i, j) * sum;
    }
    for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += gm(i, j);
        for (std::size_t j = 0; j < n; ++j) gm(i, j) -= rows(i, j) * sum;
    }
)",
            {{"gm(i, j) -= y(i, j) * sum", "gm(i, j) -= 0 * sum", "half-step"},
                {"gm(i, j) -= rows(i, j) * sum", "gm(i, j) -= y(i, j) * sum", "P just after that step"},
                {"gm = gy * y", "gm = gy", "that of exp"}}}};
    return all;
}

} // namespace chalkgrad::testing
