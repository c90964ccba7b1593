// Mixing of streams: the course's example, what a doubly stochastic matrix keeps, and both parts of a gradient through A(X).
#include "../arrays.hpp"

#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/ops/streams/mhc_mix.hpp>

namespace test_mhc_mix {
BOOST_AUTO_TEST_SUITE(mhc_mix)

using namespace chalkgrad;
using namespace chalkgrad::testing;

BOOST_AUTO_TEST_CASE(course_example) {
    Tape tape;
    const Var<double> x = tape.variable(matrix(2, 1, {2, 6}));
    const Var<double> y = mhc_mix_fixed(x, {{0.75, 0.25}, {0.25, 0.75}});
    BOOST_TEST(y.value()(0, 0) == 3);
    BOOST_TEST(y.value()(1, 0) == 5);
    // An A that is not symmetric tells A from its transpose.
    const Var<double> z = mhc_mix_fixed(x, {{1, 10}, {100, 1000}});
    z.backward(matrix(2, 1, {1, 2}));
    BOOST_TEST(z.value()(0, 0) == 62);
    BOOST_TEST(x.grad()(0, 0) == 201);
    BOOST_TEST(x.grad()(1, 0) == 2010);
}

// The sum over the streams is kept by values and by gradients; each new stream lies between the old ones.
BOOST_AUTO_TEST_CASE(sums_are_kept) {
    Generator rng(2);
    Tape tape;
    const Var<double> x = tape.variable(rng.standard_normal({4, 7})), m = tape.variable(rng.standard_normal({4, 4}));
    const Array<double> gy = rng.standard_normal({4, 7});
    const Var<double> y = mhc_mix_param(x, m, {.iterations = 300});
    y.backward(gy);
    for (std::size_t c = 0; c < 7; ++c) {
        double x_sum = 0, y_sum = 0, gx_sum = 0, gy_sum = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            x_sum += x.value()(i, c);
            y_sum += y.value()(i, c);
            gx_sum += x.grad()(i, c);
            gy_sum += gy(i, c);
        }
        check_near(y_sum, x_sum, 0, 1e-12);
        check_near(gx_sum, gy_sum, 0, 1e-12);
    }
}

BOOST_AUTO_TEST_CASE(equal_streams_teach_nothing) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>{{1, 2}, {1, 2}, {1, 2}});
    const Var<double> m = tape.variable(Array<double>{{0.3, -1, 0}, {0.5, 0.2, 0.1}, {0, 1, -0.7}});
    mhc_mix_param(x, m, {.iterations = 300}).backward(Array<double>{{1, -2}, {3, 0.5}, {0, 4}});
    for (const double g : m.grad()) check_near(g, 0, 0, 1e-13);
}

BOOST_AUTO_TEST_CASE(without_dependence_on_x_it_is_the_learned_one) {
    Generator rng(4);
    const Array<double> x0 = rng.standard_normal({3, 2, 3}), w0 = rng.standard_normal({6, 4}),
                        b0 = rng.standard_normal({2, 2}), gy = rng.standard_normal({3, 2, 3});
    const auto run = [&](double alpha, const Array<double>& w, std::vector<Array<double>>* gradients) {
        Tape tape;
        const Var<double> x = tape.variable(x0), wv = tape.variable(w), b = tape.variable(b0), a = tape.variable(alpha);
        const Var<double> y = mhc_mix_xdep(x, wv, b, a);
        y.backward(gy);
        *gradients = {x.grad(), wv.grad(), b.grad(), a.grad()};
        return y.value();
    };
    Tape tape;
    const Var<double> x = tape.variable(x0), m = tape.variable(b0);
    const Var<double> y = mhc_mix_param(x, m);
    y.backward(gy);
    Array<double> zeros = w0;
    zeros.fill(0);
    std::vector<Array<double>> shut, flat, open;
    check_array(run(0, w0, &shut), y.value(), 1e-13, 1e-14);
    check_array(run(1, zeros, &flat), y.value(), 1e-13, 1e-14);
    for (const auto* gradients : {&shut, &flat}) {
        check_array((*gradients)[0], x.grad(), 1e-12, 1e-14);
        check_array((*gradients)[2], m.grad(), 1e-12, 1e-14);
    }
    for (const double g : shut[1]) BOOST_TEST(g == 0); // W learns nothing behind a shut gate
    BOOST_TEST(std::abs(shut[3]()) > 1e-3);            // the gate itself does
    // With the gate open, x gets a second part: the gradient is not Aᵀ ȳ any more.
    run(1, w0, &open);
    double difference = 0;
    for (std::size_t i = 0; i < x0.size(); ++i)
        difference = std::max(difference, std::abs(open[0].data()[i] - x.grad().data()[i]));
    BOOST_TEST(difference > 0.1);
}

BOOST_AUTO_TEST_CASE(one_item_of_a_batch_is_alone) {
    Generator rng(6);
    Array<double> x = rng.standard_normal({2, 2, 3});
    const Array<double> w = rng.standard_normal({6, 4}), b = rng.standard_normal({2, 2});
    Tape tape;
    const auto mixed = [&](const Array<double>& values) {
        return mhc_mix_xdep(tape.constant(values), tape.constant(w), tape.constant(b), tape.constant(1.0)).value();
    };
    const Array<double> before = mixed(x);
    x(1, 0, 0) = std::nan("");
    const Array<double> after = mixed(x);
    for (std::size_t i = 0; i < 6; ++i) BOOST_TEST(before.data()[i] == after.data()[i]);
    BOOST_TEST(std::isnan(after(1, 1, 2)));
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>{{1, 2, 3}, {4, 5, 6}}),
                      m3 = tape.variable(Array<double>::from_shape({3, 3})),
                      m2 = tape.variable(Array<double>{{1, 2}, {3, 4}}),
                      wide = tape.variable(Array<double>::from_shape({2, 3})),
                      w = tape.variable(Array<double>::from_shape({6, 4})), one = tape.variable(1.0),
                      row = tape.variable(Array<double>{1, 2});
    check_refused([&] { return mhc_mix_fixed(x, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}); }, "mhc_mix_fixed", {"(2, 2)"});
    check_refused([&] { return mhc_mix_fixed(row, {{1, 2}, {3, 4}}); }, "mhc_mix_fixed", {"(2)"});
    check_refused([&] { return mhc_mix_param(x, m3); }, "mhc_mix_param", {"(2, 2)"});
    check_refused([&] { return mhc_mix_param(x, wide); }, "mhc_mix_param", {"square"});
    check_refused([&] { return mhc_mix_param(x, m2, {.iterations = 0}); }, "mhc_mix_param", {"iterations"});
    check_refused([&] { return mhc_mix_xdep(x, m2, m2, one); }, "mhc_mix_xdep", {"(6, 4)"});
    check_refused([&] { return mhc_mix_xdep(x, w, m3, one); }, "mhc_mix_xdep", {"bias"});
    check_refused([&] { return mhc_mix_xdep(x, w, m2, row); }, "mhc_mix_xdep", {"alpha"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_mhc_mix
