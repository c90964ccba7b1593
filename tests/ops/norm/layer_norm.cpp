// layer_norm: large means, constant rows, every magnitude, optional gain and bias.
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>

#include "../call.hpp"

namespace test_layer_norm {
BOOST_AUTO_TEST_SUITE(layer_norm)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

/// layer_norm as a function of {x}, {x, gamma} or {x, gamma, beta}.
auto norm(double eps) {
    return [eps](const auto& v) { return chalkgrad::layer_norm(v[0], input(v, 1), input(v, 2), eps); };
}

/// The op itself in double against its own long double.
template <class T>
void check_against_long_double(
    const std::vector<Array<double>>& inputs, const std::vector<double>& gy, double eps, double relative) {
    std::vector<Array<T>> narrow;
    std::vector<Array<long double>> wide;
    for (const Array<double>& x : inputs) {
        narrow.push_back(converted<T>(x));
        wide.push_back(converted<long double>(narrow.back()));
    }
    const auto got = call<T>(norm(eps), narrow, converted<T>(gy));
    const auto expected = call<long double>(norm(eps), wide, converted<long double>(gy));
    check_all(got.y, expected.y, relative);
    for (std::size_t i = 0; i < inputs.size(); ++i) check_all(got.g[i], expected.g[i], relative);
}

} // namespace

// G11, and G44, G47: statistics are loops of our own, no lazy reduction.
BOOST_AUTO_TEST_CASE(large_mean) {
    on_every_isa([] {
        const std::vector<double> y = {-1.3416354199689269, -0.447211806656309, 0.447211806656309, 1.3416354199689269};
        const std::vector<double> gx = {
            -0.2683222541449123, 1.028588765259135, -1.2521946685872896, 0.4919281574730668};
        const auto got = call<double>(norm(1e-5), {{100000000, 100000001, 100000002, 100000003}}, {1, 2, -1, 0.5});
        check_all(got.y, y, 1e-15);
        check_all(got.g[0], gx, 1e-15);
        const auto single = call<float>(norm(1e-5), {{40000, 40001, 40002, 40003}}, {1, 2, -1, 0.5f});
        check_all(single.y, y, 1e-6);
        check_all(single.g[0], gx, 1e-6);
    });
}

// Kernels take several rows at once: seven rows of all magnitudes are what each is alone, γ̄ and β̄ are the sums.
BOOST_AUTO_TEST_CASE(rows_taken_together) {
    on_every_isa([] {
        const std::size_t rows = 7, d = 7;
        const double means[] = {0, 1e8, -3, 0, 1e100, 2, 0}, scales[] = {1, 1, 1e-8, 0, 1e100, 1e-120, 3};
        const Array<double> gamma = {1, 0.5, -2, 3, 0.25, -1, 2}, beta = {1, -1, 0, 2, 3, 0.5, -4};
        Array<double> x(std::vector<std::size_t>{rows, d});
        std::vector<double> gy(rows * d);
        for (std::size_t i = 0; i < rows * d; ++i) {
            x.data()[i] = means[i / d] + std::sin(static_cast<double>(3 * i + 1)) * scales[i / d];
            gy[i] = std::cos(static_cast<double>(5 * i));
        }
        check_rows_alone(norm(1e-10), {x, gamma, beta}, gy);
        check_all(call<double>([](const auto& v) { return chalkgrad::layer_norm(v[0], {}, {}, 1e-10); }, {x}, gy).g[0],
            call<double>(norm(1e-10), {x, {1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0}}, gy).g[0], 1e-12);
    });
}

// Centred once, the mean's own rounding error stays in every element: 5e-9 here.
BOOST_AUTO_TEST_CASE(centred_twice) {
    Array<double> x(std::vector<std::size_t>{3, 11});
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = 1e8 + std::sin(static_cast<double>(i));
    std::vector<double> gy(33);
    for (std::size_t i = 0; i < 33; ++i) gy[i] = std::cos(2.0 * static_cast<double>(i));
    on_every_isa([&] {
        check_against_long_double<double>(
            {x, {1, -2, 3, 0.5, 1, 1, 2, 0.1, -1, 1, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1}}, gy, 1e-5, 2e-15);
        check_against_long_double<float>({x - 1e8 + 1e4, {1, -2, 3, 0.5, 1, 1, 2, 0.1, -1, 1, 4}}, gy, 1e-5, 1e-6);
    });
}

BOOST_AUTO_TEST_CASE(every_magnitude) {
    on_every_isa([] {
        const Array<double> x = {{2, -1, 3, 0.5, -0.25}, {1, 1.5, -1, 0, 2}};
        const std::vector<double> gy = {0.3, -1, 0.7, 2, -0.6, 1, -2, 0.5, 1.5, 0.1};
        for (const double scale : {1e-300, 1e-200, 1e-120, 1e-8, 1e-3, 1.0, 1e120, 1e153, 1e154, 1e200, 5e307})
            BOOST_TEST_CONTEXT("scale " << scale)
        check_against_long_double<double>({Array<double>(x * scale), {1, 0.5, -2, 3, 0.25}}, gy, 1e-6, 5e-15);
        for (const double scale : {1e-30, 1e-3, 1.0, 1e18, 1e19, 1e30, 1e38})
            BOOST_TEST_CONTEXT("float, scale " << scale)
        check_against_long_double<float>({Array<double>(x * scale), {1, 0.5, -2, 3, 0.25}}, gy, 1e-6, 3e-6);
    });
}

BOOST_AUTO_TEST_CASE(constant_rows_become_the_bias) {
    on_every_isa([] {
        const auto got = call<double>(norm(1e-5), {{{0.1, 0.1, 0.1}, {1e9, 1e9, 1e9}, {0, 0, 0}}, {1, 2, 3}, {4, 5, 6}},
            {1, 0, 0, 1, 0, 0, 1, 0, 0});
        for (std::size_t i = 0; i < 9; ++i) check_near(got.y[i], 4.0 + static_cast<double>(i % 3), 1e-15);
        // h − ⟨h⟩ over √ε is all that is left of the gradient.
        for (std::size_t t = 0; t < 3; ++t) check_near(got.g[0][3 * t], 2 / 3. / std::sqrt(1e-5), 1e-12);
    });
}

BOOST_AUTO_TEST_CASE(optional_parts) {
    on_every_isa([] {
        const Array<double> x = {{1, -2, 3, 0.5, 1}, {0.1, 0.2, -0.3, 2, 1}}, ones = {1, 1, 1, 1, 1},
                            zeros = {0, 0, 0, 0, 0};
        const std::vector<double> gy = {1, 2, -1, 0.5, 3, -2, 1, 1, 0.25, -0.5};
        const auto full = call<double>(norm(1e-2), {x, ones, zeros}, gy);
        const std::vector<std::vector<Array<double>>> ways = {
            {x}, {x, ones}, {x, Array<double>(1.0), Array<double>(0.0)}};
        for (const auto& inputs : ways) {
            const auto got = call<double>(norm(1e-2), inputs, gy);
            check_all(got.y, full.y, 1e-15);
            check_all(got.g[0], full.g[0], 1e-15);
            if (inputs.size() == 3) {
                double ggamma = 0, gbeta = 0;
                for (std::size_t j = 0; j < 5; ++j) {
                    ggamma += full.g[1][j];
                    gbeta += full.g[2][j];
                }
                check_near(got.g[1][0], ggamma, 1e-14);
                check_near(got.g[2][0], gbeta, 1e-14);
            }
        }
        for (std::size_t j = 0; j < 5; ++j) check_near(full.g[2][j], gy[j] + gy[5 + j], 1e-15);
    });
}

BOOST_AUTO_TEST_CASE(rows_are_independent) {
    const Array<double> x = {{1, 2, 3}, {quiet_nan, 1, 2}, {inf, 1, 2}, {4, 5, 7}};
    const auto got = call<double>(norm(1e-5), {x}, {1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0});
    for (std::size_t i = 0; i < 12; ++i) {
        BOOST_TEST(std::isnan(got.y[i]) == (i >= 3 && i < 9));
        BOOST_TEST(std::isnan(got.g[0][i]) == (i >= 3 && i < 9));
    }
}

// The squares of 60000 overflow half; the statistics are taken in float, and the result is rounded once.
BOOST_AUTO_TEST_CASE(half_is_widened) {
    Tape tape;
    const Var<half> y = chalkgrad::layer_norm(tape.variable(converted<half>(Array<double>{60000, -60000, 30000, 0})));
    const auto expected = call<double>(norm(1e-5), {{60000, -60000, 30000, 0}}, {1, 1, 1, 1});
    for (std::size_t j = 0; j < 4; ++j)
        BOOST_TEST(static_cast<float>(y.data()[j]) ==
                   static_cast<float>(static_cast<half>(static_cast<float>(expected.y[j]))));
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>({{1, 2, 3}, {4, 5, 6}})), none;
    for (const double eps : {0.0, -1e-6, quiet_nan, inf})
        check_refused(tape, "layer_norm", [&] { return chalkgrad::layer_norm(x, none, none, eps); });
    const Var<double> two = tape.variable(Array<double>{1, 2}), row = tape.variable(Array<double>({{1, 2, 3}}));
    check_refused(tape, "layer_norm", [&] { return chalkgrad::layer_norm(x, two); });
    check_refused(tape, "layer_norm", [&] { return chalkgrad::layer_norm(x, none, row); });
    const Var<double> number = tape.variable(1.0), empty = tape.variable(Array<double>(std::vector<std::size_t>{2, 0}));
    check_refused(tape, "layer_norm", [&] { return chalkgrad::layer_norm(number); });
    check_refused(tape, "layer_norm", [&] { return chalkgrad::layer_norm(empty); });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_layer_norm
