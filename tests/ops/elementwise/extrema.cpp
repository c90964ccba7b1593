// minimum, maximum, logaddexp: ties, infinities, NaN, broadcasting.
#include "unary.hpp"

#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace test_extrema {
BOOST_AUTO_TEST_SUITE(extrema)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

struct Pairs {
    std::vector<double> y, ga, gb;
};
template <class F> Pairs run_pairs(F f, const std::vector<double>& a, const std::vector<double>& b, double gy = 1) {
    Tape tape;
    const Var<double> va = tape.leaf(Shape{a.size()}, a.data(), true), vb = tape.leaf(Shape{b.size()}, b.data(), true);
    const Var<double> y = f(va, vb);
    Array<double> cotangent(std::vector<std::size_t>{a.size()});
    cotangent.fill(gy);
    y.backward(cotangent);
    return {
        {y.data(), y.data() + y.size()}, {va.grad().begin(), va.grad().end()}, {vb.grad().begin(), vb.grad().end()}};
}

void check_pairs(const Pairs& got, const std::vector<double>& y, const std::vector<double>& ga,
    const std::vector<double>& gb, double relative = 0) {
    for (std::size_t i = 0; i < y.size(); ++i) {
        BOOST_TEST_CONTEXT("element " << i) {
            check_near(got.y[i], y[i], relative);
            check_near(got.ga[i], ga[i], relative);
            check_near(got.gb[i], gb[i], relative);
        }
    }
}

const auto smaller = [](const auto& a, const auto& b) { return minimum(a, b); };
const auto larger = [](const auto& a, const auto& b) { return maximum(a, b); };
const auto soft = [](const auto& a, const auto& b) { return logaddexp(a, b); };

} // namespace

BOOST_AUTO_TEST_CASE(ties_are_split_and_nan_wins) {
    on_every_isa([] {
        const std::vector<double> a = {1, 2, 3, inf, -inf, quiet_nan, 1, 1.7e308, 5e-324},
                                  b = {2, 2, 1, inf, -inf, 1, quiet_nan, 1.7e308, 5e-324};
        check_pairs(run_pairs(smaller, a, b, 2), {1, 2, 1, inf, -inf, quiet_nan, quiet_nan, 1.7e308, 5e-324},
            {2, 1, 0, 1, 1, 0, 0, 1, 1}, {0, 1, 2, 1, 1, 0, 0, 1, 1});
        check_pairs(run_pairs(larger, a, b, 2), {2, 2, 3, inf, -inf, quiet_nan, quiet_nan, 1.7e308, 5e-324},
            {0, 1, 2, 1, 1, 0, 0, 1, 1}, {2, 1, 0, 1, 1, 0, 0, 1, 1});
    });
}

BOOST_AUTO_TEST_CASE(forward_mode_splits_ties_too) {
    Tape tape;
    const Var<Dual<double>> a = tape.variable(duals({{2, 1}, {1, 1}, {3, 1}})),
                            b = tape.variable(duals({{2, 3}, {2, 3}, {2, 3}}));
    const double d_min[] = {2, 1, 3}, d_max[] = {2, 3, 1};
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(minimum(a, b).value()(i).d == d_min[i]);
        BOOST_TEST(maximum(a, b).value()(i).d == d_max[i]);
    }
}

BOOST_AUTO_TEST_CASE(logaddexp_at_its_edges) {
    on_every_isa([] {
        const std::vector<double> a = {0, 1000, -1000, -inf, inf, -inf, inf, quiet_nan, 700},
                                  b = {0, 999, -999, 3, 3, -inf, inf, 1, -50};
        const double s = 1 / (1 + std::exp(-1.0)), t = 1 / (1 + std::exp(1.0)), l = std::log1p(std::exp(-1.0));
        check_pairs(run_pairs(soft, a, b), {std::log(2.0), 1000 + l, -999 + l, 3, inf, -inf, inf, quiet_nan, 700},
            {0.5, s, t, 0, 1, 0, 0.5, quiet_nan, 1},
            {0.5, t, s, 1, 0, 0, 0.5, quiet_nan, std::exp(-750.0) * (1 + 0 * std::log(2.0))}, 1e-13);
    });
}

// The tangent of log(eᵃ + eᵇ) at a = b is the mean, and its second derivative ¼: no kink there.
BOOST_AUTO_TEST_CASE(logaddexp_is_smooth_in_a_tie) {
    Tape tape;
    const Var<Dual<double>> a = tape.variable(duals({{2, 1}})), b = tape.variable(duals({{2, 0}}));
    const Var<Dual<double>> y = logaddexp(a, b);
    y.backward(duals({{1, 0}}));
    BOOST_TEST(y.value()(0).d == 0.5);
    BOOST_TEST(a.grad()(0).d == 0.25);
    BOOST_TEST(b.grad()(0).d == -0.25);
}

BOOST_AUTO_TEST_CASE(a_broadcast_operand_gets_the_sum) {
    Tape tape;
    const Var<double> a = tape.variable(Array<double>{{1., 5., 2.}, {4., 0., 2.}}),
                      b = tape.variable(Array<double>{2., 3., 2.});
    maximum(a, b).backward(Array<double>{{1., 10., 100.}, {2., 20., 200.}});
    BOOST_TEST(a.grad() == (Array<double>{{0., 10., 50.}, {2., 0., 100.}}));
    BOOST_TEST(b.grad() == (Array<double>{1, 20, 150}));
    BOOST_CHECK_THROW(minimum(a, tape.variable(Array<double>{1, 2})), Error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_extrema
