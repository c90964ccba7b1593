// Differences: what is expected of a slope saves runs, and never decides what the slope is.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include <chalkgrad/autograd/check/difference.hpp>
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>

namespace test_difference {
BOOST_AUTO_TEST_SUITE(difference)

using namespace chalkgrad;
using detail::Column;
using detail::Expected;

namespace {

/// y = |x|, without a word of its kink; counts its forwards in long double.
int runs = 0;
struct Bend {
    static constexpr const char* name = "bend";
    static constexpr const char* inputs[] = {"x"};
    Shape shape(Shapes in) const { return in[0]; }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        runs += std::is_same_v<T, long double>;
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = in[0][i] < T(0) ? -in[0][i] : in[0][i];
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        for (std::size_t i = 0; i < gy.size(); ++i) gx[0][i] = in[0][i] < T(0) ? -gy[i] : gy[i];
    }
};

/// The slopes of y along one element of x, with these slopes expected of both outputs; all judged by `size`.
Column along(const Var<double>& y, const Var<double>& x, std::vector<double> slopes, double size,
    std::vector<double> lengths = {1}, std::size_t element = 0) {
    Replay<long double> program({y});
    detail::Differences<long double> differences(program, {y.line()});
    const Expected expected{slopes, std::vector<double>(y.size(), size), 1e-10};
    return differences.along(
        {{x.line(), element, 1}}, program.dependents(x.line()), lengths, slopes.empty() ? nullptr : &expected);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_slope_that_is_expected_takes_four_runs) {
    Tape t;
    const auto x = t.variable(Array<double>{0.75, -2}, "x"), y = apply(Bend{}, exp(x));
    const double slope = std::exp(0.75);
    const auto count = [&](double expected) {
        runs = 0;
        const Column column = along(y, x, {expected, 0}, slope);
        BOOST_TEST(std::abs(column.slope[0] - slope) < 1e-14);
        BOOST_TEST(column.slope[1] == 0);
        BOOST_TEST(column.error[0] > 0);
        BOOST_TEST(column.error[0] < 1e-11);
        return runs;
    };
    // Recording, the point itself, and the stencil.
    const int right = count(slope), slightly_off = count(slope * (1 + 1e-9)), wrong = count(2 * slope);
    BOOST_TEST(right == 1 + 1 + 4);
    BOOST_TEST(slightly_off >= right + 6);
    BOOST_TEST(wrong == slightly_off);
}

// Half the slopes of both sides is what a stencil over a kink gives, too.
BOOST_AUTO_TEST_CASE(a_kink_is_seen_whatever_is_expected) {
    Tape t;
    const auto x = t.variable(Array<double>{0, 1}, "x"), y = apply(Bend{}, x);
    for (const double expected : {-1.0, 0.0, 1.0}) {
        const Column column = along(y, x, {expected, 0}, 1);
        BOOST_TEST_REQUIRE(column.both_sides.has_value());
        BOOST_TEST(!column.declared);
        BOOST_TEST(std::abs(column.both_sides->first.slope[0] + 1) < 1e-12);
        BOOST_TEST(std::abs(column.both_sides->second.slope[0] - 1) < 1e-12);
    }
    // Close by, within the stencil, the side decides.
    const auto near = t.variable(Array<double>{1e-5, 1}, "near"), z = apply(Bend{}, near);
    const Column column = along(z, near, {0.9, 0}, 1);
    BOOST_TEST(std::abs(column.slope[0] - 1) < 1e-9);
}

// A step of 6e-5 of the size is wider here than the length over which the function bends.
BOOST_AUTO_TEST_CASE(a_bend_within_a_step_is_not_missed) {
    Tape t;
    const auto x = t.variable(Array<double>{3e-8, 1}, "x"), y = tanh(1e7 * x);
    const double slope = 1e7 / std::pow(std::cosh(0.3), 2);
    const Column column = along(y, x, {slope, 0}, 1e7, {1, 1e-7});
    BOOST_TEST(std::abs(column.slope[0] - slope) < 1e-9 * 1e7);
    BOOST_TEST(column.error[0] < 1e-9 * 1e7);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_difference
