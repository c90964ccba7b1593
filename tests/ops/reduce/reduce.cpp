// Reductions: which axes, empty ones, ties, large means, rows of −inf, both instruction sets, low precision.
#include "../arrays.hpp"

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

namespace test_reduce {
BOOST_AUTO_TEST_SUITE(reduce)

using namespace chalkgrad;
using namespace chalkgrad::testing;

BOOST_AUTO_TEST_CASE(sum_over_every_set_of_axes) {
    const Array<double> x = counting({2, 3, 1, 5});
    const auto each_index = [](auto f) {
        for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t j = 0; j < 3; ++j)
                for (std::size_t l = 0; l < 5; ++l) f(i, j, l);
    };
    on_every_isa([&] {
        for (unsigned set = 1; set < 16; ++set) BOOST_TEST_CONTEXT("axes " << set) {
                std::vector<std::ptrdiff_t> axes;
                for (int k = 0; k < 4; ++k)
                    if ((set >> k) & 1) axes.push_back(k % 2 ? k : k - 4);
                const auto kept = [=](unsigned k, std::size_t i) { return (set >> k) & 1 ? 0 : i; };
                Tape tape;
                const Var<double> v = tape.variable(x), y = sum(v, Axes(axes), true);
                y.backward(y.value());
                Array<double> wanted(y.value().shape(), 0.0);
                each_index(
                    [&](auto i, auto j, auto l) { wanted(kept(0, i), kept(1, j), 0, kept(3, l)) += x(i, j, 0, l); });
                check_array(y.value(), wanted);
                each_index([&](auto i, auto j, auto l) {
                    BOOST_TEST(v.grad()(i, j, 0, l) == wanted(kept(0, i), kept(1, j), 0, kept(3, l)));
                });
            }
    });
}

BOOST_AUTO_TEST_CASE(shapes) {
    Tape tape;
    const Var<double> x = tape.variable(counting({2, 3, 4}));
    BOOST_TEST(sum(x).shape() == Shape());
    BOOST_TEST(sum(x, {}, true).shape() == Shape({1, 1, 1}));
    BOOST_TEST(sum(x, 1).shape() == Shape({2, 4}));
    BOOST_TEST(sum(x, {0, -1}).shape() == Shape({3}));
    BOOST_TEST(mean(x, {2}, true).shape() == Shape({2, 3, 1}));
    BOOST_TEST(mean(x, -1).value()(1, 2) == 21.5);
    BOOST_TEST(sum(tape.variable(3.0)).item() == 3);
    check_refused([&] { sum(x, 3); }, "sum", {"(2, 3, 4)", "axis 3"});
    // As in NumPy, a list of no axes is not all of them.
    const Axes none{std::vector<std::ptrdiff_t>()};
    check_array(sum(x, none).value(), x.value());
    check_array(mean(x, none, true).value(), x.value());
    check_array(amin(x, none).value(), x.value());
    check_array(logsumexp(x, none).value(), x.value());
    check_array(var_biased(x, none).value(), Array<double>(xt::zeros<double>({2, 3, 4})));
    sum(x * x, none).backward(counting({2, 3, 4}));
    check_array(x.grad(), Array<double>(2 * x.value() * x.value()));
    check_refused([&] { mean(x, {1, -2}); }, "mean", {"twice"});
    check_refused([&] { amax(x, {0, 0}); }, "amax", {"twice"});
}

// G29: a sum over nothing is 0; mean, variance and extremes have no answer.
BOOST_AUTO_TEST_CASE(nothing_to_reduce) {
    Tape tape;
    const Var<double> a = tape.variable(Array<double>::from_shape({4, 0})),
                      b = tape.variable(array({4, 1}, {2, 2, 2, 2}));
    const Var<double> total = sum(a + b);
    BOOST_TEST(total.item() == 0);
    total.backward();
    check_array(b.grad(), array({4, 1}, {0, 0, 0, 0}));
    BOOST_TEST((a.grad().shape()[0] == 4 && a.grad().shape()[1] == 0));
    const Var<double> x = tape.variable(Array<double>::from_shape({2, 0}));
    check_refused([&] { mean(x); }, "mean", {"(2, 0)", "empty"});
    check_refused([&] { mean(x, 1); }, "mean", {"(2, 0)", "axis 1"});
    check_refused([&] { var_biased(x, 1); }, "var_biased", {"empty"});
    check_refused([&] { amax(x, 1); }, "amax", {"empty"});
    check_refused([&] { amin(x); }, "amin", {"empty"});
    BOOST_TEST(mean(x, 0).size() == 0u); // of no columns there is no mean, and none is asked for
    check_array(logsumexp(x, 1).value(), array({2}, {-inf, -inf}));
}

BOOST_AUTO_TEST_CASE(long_rows_on_every_isa) {
    Generator rng(1);
    const Array<double> x = rng.standard_normal({3, 2500});
    on_every_isa([&] {
        Tape tape;
        const Var<double> v = tape.variable(x);
        for (std::size_t i = 0; i < 3; ++i) {
            long double s = 0, squares = 0, exps = 0, largest = -inf;
            for (std::size_t j = 0; j < 2500; ++j) {
                s += x(i, j);
                exps += std::exp(static_cast<long double>(x(i, j)));
                largest = std::max<long double>(largest, x(i, j));
            }
            for (std::size_t j = 0; j < 2500; ++j) squares += (x(i, j) - s / 2500) * (x(i, j) - s / 2500);
            check_near(sum(v, 1).value()(i), s, 0, 1e-12);
            check_near(var_biased(v, 1).value()(i), squares / 2500, 1e-14);
            check_near(logsumexp(v, 1).value()(i), std::log(exps), 1e-15);
            BOOST_TEST(amax(v, 1).value()(i) == static_cast<double>(largest));
        }
    });
}

// G11, G44: a large mean leaves the variance alone, and the divisor is N.
BOOST_AUTO_TEST_CASE(variance_beside_a_large_mean) {
    const auto variance = [](const std::vector<Var<double>>& x) { return var_biased(x[0], -1); };
    auto got =
        gradients<double>(variance, {array({1, 4}, {100000000, 100000001, 100000002, 100000003})}, array({1}, {1}));
    check_array(got.y, array({1}, {1.25}));
    check_array(got.gx[0], array({1, 4}, {-0.75, -0.25, 0.25, 0.75}));
    got = gradients<double>(variance, {array({2, 3}, {1, 2, 3, 4, 5, 7})}, array({2}, {1, 1}));
    check_array(got.y, array({2}, {0.6666666666666666, 1.5555555555555556}), 1e-15);
    got = gradients<double>(variance, {array({1, 3}, {0.1, 0.1, 0.1})}, array({1}, {1}));
    check_array(got.y, array({1}, {0}));
    check_array(got.gx[0], array({1, 3}, {0, 0, 0}));
}

// G05
BOOST_AUTO_TEST_CASE(ties_share) {
    const auto three_times = [](const std::vector<Var<double>>& x) { return 3 * amax(x[0]); };
    on_every_isa([&] {
        const auto got = gradients<double>(three_times, {array({5}, {2, 5, 5, 1, 5})}, array({}, {1}));
        check_array(got.y, array({}, {15}));
        check_array(got.gx[0], array({5}, {0, 1, 1, 0, 1}));
    });
    // Forward mode has the same convention.
    Tape tape;
    const Var<Dual<double>> x = tape.variable(duals({{2, 9}, {5, 1}, {5, 2}, {1, 9}, {5, 6}}));
    BOOST_TEST(amax(x).item().v == 5);
    BOOST_TEST(amax(x).item().d == 3);
}

BOOST_AUTO_TEST_CASE(smallest_is_minus_the_largest_of_minus_x) {
    const Array<double> x = array({3, 4}, {1, -2, -2, 5, 0, 3, 0, 0, 7, 7, 7, 7}), gy = array({4}, {1, 2, -3, 0.5});
    const auto direct = gradients<double>([](auto& v) { return amin(v[0], 0); }, {x}, gy);
    const auto turned = gradients<double>([](auto& v) { return -amax(-v[0], 0); }, {x}, gy);
    check_array(direct.y, turned.y);
    check_array(direct.gx[0], turned.gx[0]);
}

BOOST_AUTO_TEST_CASE(extremes_of_special_values) {
    on_every_isa([] {
        Tape tape;
        for (const std::size_t place : {0u, 4u, 10u}) { // wherever it stands
            Array<double> numbers = counting({11});
            numbers(place) = quiet_nan;
            const Var<double> x = tape.variable(numbers);
            BOOST_TEST(std::isnan(amax(x).item()));
            BOOST_TEST(std::isnan(amin(x).item()));
            BOOST_TEST(std::isnan(amax(tape.variable(Array<double>(xt::expand_dims(numbers, 1))), 0).value()(0)));
        }
        const Var<double> low = tape.variable(array({2}, {-inf, -inf}));
        const Var<double> y = amax(low);
        BOOST_TEST(y.item() == -inf);
        y.backward();
        check_array(low.grad(), array({2}, {0.5, 0.5}));
    });
}

// G08
BOOST_AUTO_TEST_CASE(logsumexp_of_nothing) {
    on_every_isa([] {
        Tape tape;
        for (const double fill : {-inf, quiet_nan}) {
            const Var<double> x = tape.variable(array({2, 3}, {-inf, -inf, -inf, fill, 0.5, 1.5}));
            const Var<double> y = logsumexp(x, 1);
            y.backward(array({2}, {1, 1}));
            if (std::isnan(fill)) {
                check_array(y.value(), array({2}, {-inf, quiet_nan}));
            } else {
                check_array(y.value(), array({2}, {-inf, 1.8132616875182228}), 1e-15);
                check_array(x.grad(), array({2, 3}, {0, 0, 0, 0, 0.2689414213699951, 0.7310585786300049}), 1e-15);
            }
        }
        // Beyond exp's range either way, and hidden by a mask that broadcasts.
        const Var<double> x = tape.variable(array({2, 2}, {1000, 1000, -1000, -1001}));
        check_array(logsumexp(x, 1).value(), array({2}, {1000 + std::log(2), -1000 + std::log1p(std::exp(-1))}), 1e-15);
        const Var<double> mask = tape.variable(array({2}, {0, -inf})), y = logsumexp(x, -1, false, mask);
        check_array(y.value(), array({2}, {1000, -1000}));
        y.backward(array({2}, {2, 3}));
        check_array(x.grad(), array({2, 2}, {2, 0, 3, 0}));
        check_array(mask.grad(), array({2}, {5, 0}));
        BOOST_TEST(logsumexp(tape.variable(array({2}, {inf, 1}))).item() == inf);
        check_refused(
            [&] {
                logsumexp(x, 1, false, tape.constant(array({3}, {0, 0, 0})));
            },
            "logsumexp", {"(3)", "(2, 2)"});
        check_refused(
            [&] {
                logsumexp(x, 1, false, tape.constant(array({3, 1, 1}, {0, 0, 0})));
            },
            "logsumexp", {"mask"});
    });
}

BOOST_AUTO_TEST_CASE(low_precision_adds_in_float) {
    Array<half> x = Array<half>::from_shape({4096});
    std::fill(x.begin(), x.end(), half(1));
    Tape tape;
    BOOST_TEST(static_cast<float>(sum(tape.variable(x)).item()) == 4096); // in half 2048 + 1 is 2048
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_reduce
