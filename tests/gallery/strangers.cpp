// Users' ops of kinds that nobody tuned gradcheck for, in double only: right ones whose forward cancels, saturates or ends its domain, and
// wrong ones that are off by less than the tolerance, in one row or in one cell.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>

namespace test_strangers {
BOOST_AUTO_TEST_SUITE(strangers)

using namespace chalkgrad;
using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

namespace {

/// y_i = f(x_i), with the slope d(x_i, y_i).
template <class F, class D> auto each(F f, D d) {
    return [=](const Vars& v) {
        return custom(
            "each",
            [=](const Doubles& x) {
                Doubles y = x;
                for (double& e : y) e = f(e);
                return y;
            },
            [=](const Doubles& x, const Doubles& y, const Doubles& gy) {
                Doubles g = x;
                for (std::size_t i = 0; i < g.size(); ++i) g.data()[i] = gy.data()[i] * d(x.data()[i], y.data()[i]);
                return g;
            },
            v[0]);
    };
}

/// f at standard normal numbers times a scale.
template <class F>
void over_seeds(const char* what, bool is_right, const F& f, std::vector<Shape> shapes, double scale) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Generator rng{Seed{77, seed}};
        std::vector<Doubles> point;
        for (const Shape& shape : shapes) point.push_back(rng.normal(0, scale, shape));
        GradcheckOptions options;
        options.seed = seed;
        const GradcheckReport report = gradcheck(f, point, options);
        BOOST_TEST((is_right ? report.verdict != Verdict::fail : report.verdict == Verdict::fail),
            what << ", seed " << seed << ": " << to_string(report));
    }
}
template <class F> void at_points(const char* what, const F& f, const Doubles& x) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        GradcheckOptions options;
        options.seed = seed;
        const GradcheckReport report = gradcheck(f, {x}, options);
        BOOST_TEST((report.verdict != Verdict::fail), what << ", seed " << seed << ": " << to_string(report));
    }
}

/// tanh's gelu, whose constant in the backward is c.
auto gelu(double c) {
    constexpr double root = 0.7978845608028654;
    const auto inner = [](double x) { return std::tanh(root * (x + 0.044715 * x * x * x)); };
    return each([=](double x) { return 0.5 * x * (1 + inner(x)); },
        [=](double x, double) {
            const double t = inner(x);
            return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * c * x * x);
        });
}

/// u − e sin u = x by Newton's method, e = 0.4; the backward is off by a part.
auto kepler(double part) {
    return each(
        [](double x) {
            double u = x;
            for (int k = 0; k < 60; ++k) u -= (u - 0.4 * std::sin(u) - x) / (1 - 0.4 * std::cos(u));
            return u;
        },
        [=](double, double u) { return (1 + part) / (1 - 0.4 * std::cos(u)); });
}

/// t log Σ exp(x / t) by x and t; the gradient of t is off by a part.
auto log_sum_exp(double part) {
    return [=](const Vars& v) {
        return custom(
            "lse",
            [](const Doubles& x, const Doubles& t) {
                double sum = 0;
                for (const double e : x) sum += std::exp(e / t(0));
                return Doubles{t(0) * std::log(sum)};
            },
            [=](const Doubles& x, const Doubles& t, const Doubles& y, const Doubles& gy) {
                Doubles gx = x;
                double along = 0;
                for (std::size_t i = 0; i < x.size(); ++i) {
                    const double p = std::exp((x.data()[i] - y(0)) / t(0));
                    gx.data()[i] = p * gy(0);
                    along += p * x.data()[i];
                }
                return std::tuple(gx, Doubles{(1 + part) * gy(0) * (y(0) - along) / t(0)});
            },
            v[0],
            custom(
                "temperature", [](const Doubles& s) { return Doubles(1 + s * s); },
                [](const Doubles& s, const Doubles&, const Doubles& gy) { return Doubles(2. * s * gy); }, v[1]));
    };
}

} // namespace

BOOST_AUTO_TEST_CASE(right_ones_raise_no_alarm) {
    over_seeds("gelu", true, gelu(0.044715), {{7}}, 1);
    over_seeds("gelu far out", true, gelu(0.044715), {{7}}, 10);
    over_seeds("Kepler", true, kepler(0), {{5}}, 1);
    over_seeds("log-sum-exp", true, log_sum_exp(0), {{2, 3}, {1}}, 1);
    over_seeds("a large number and back", true,
        each([](double x) { return (1e8 + std::sin(x)) - 1e8; }, [](double x, double) { return std::cos(x); }), {{5}},
        1);
    over_seeds("steep", true,
        each([](double x) { return 1 / (1 + std::exp(-1e3 * x)); }, [](double, double y) { return 1e3 * y * (1 - y); }),
        {{5}}, 1);
    over_seeds("fast", true,
        each([](double x) { return std::sin(1e6 * x); }, [](double x, double) { return 1e6 * std::cos(1e6 * x); }),
        {{3}}, 1);
    at_points("beside the end of the domain",
        each([](double x) { return x * std::log(x); }, [](double x, double) { return std::log(x) + 1; }),
        {1e-300, 1e-10, 0.36787944117144233, 5});
    at_points("cancels", each([](double x) { return 1 - std::cos(x); }, [](double x, double) { return std::sin(x); }),
        {1e-8, 1e-5, 0.1, 2});
}

BOOST_AUTO_TEST_CASE(wrong_ones_are_seen_below_the_tolerance) {
    over_seeds("gelu by 1e-9", false, gelu(0.0447150001), {{7}}, 1);
    over_seeds("Kepler by 1e-10", false, kepler(1e-10), {{5}}, 1);
    over_seeds("temperature by 1e-9", false, log_sum_exp(1e-9), {{2, 3}, {1}}, 1);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_strangers
