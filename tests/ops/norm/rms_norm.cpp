// rms_norm: rows of every magnitude, ε in the backward, gains, and where low precision rounds.
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

#include "../call.hpp"

namespace test_rms_norm {
BOOST_AUTO_TEST_SUITE(rms_norm)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

/// rms_norm with a gain, as a function of {x, gamma}.
auto norm(double eps) {
    return [eps](const auto& v) { return chalkgrad::rms_norm(v[0], v[1], eps); };
}

/// y, x̄, γ̄ of one row, by the textbook in long double.
std::vector<std::vector<long double>> one_row(
    const std::vector<double>& x, const std::vector<double>& gamma, const std::vector<double>& gy, long double eps) {
    const std::size_t d = x.size();
    long double squares = 0, along = 0;
    for (const long double v : x) squares += v * v;
    const long double root = std::sqrt(squares / d + eps);
    std::vector<long double> y, gx, ggamma;
    for (std::size_t j = 0; j < d; ++j) along += gamma[j] * static_cast<long double>(gy[j]) * x[j] / root / d;
    for (std::size_t j = 0; j < d; ++j) {
        y.push_back(gamma[j] * (x[j] / root));
        gx.push_back((gamma[j] * static_cast<long double>(gy[j]) - x[j] / root * along) / root);
        ggamma.push_back(gy[j] * (x[j] / root));
    }
    return {y, gx, ggamma};
}

template <class T> void check_row(std::vector<double> x, double eps, double relative) {
    const std::vector<double> gamma = {1, 0.5, -2, 3, 0.25, -1, 2}, gy = {0.3, -1, 0.7, 2, -0.6, 1.5, 0.1};
    for (double& v : x) v = static_cast<double>(static_cast<T>(v));
    const auto expected = one_row(x, gamma, gy, eps);
    const auto array = [](const std::vector<double>& v) {
        Array<T> a(std::vector<std::size_t>{v.size()});
        for (std::size_t j = 0; j < v.size(); ++j) a(j) = static_cast<T>(v[j]);
        return a;
    };
    const auto got = call<T>(norm(eps), {array(x), array(gamma)}, converted<T>(gy));
    check_all(got.y, expected[0], relative);
    check_all(got.g[0], expected[1], relative);
    check_all(got.g[1], expected[2], relative);
}

const std::vector<double> directions = {2, -1, 3, 0.5, -0.25, 1, -2};
std::vector<double> times(double scale) {
    std::vector<double> x = directions;
    for (double& v : x) v *= scale;
    return x;
}

} // namespace

// G14
BOOST_AUTO_TEST_CASE(no_term_is_lost) {
    on_every_isa([] {
        const auto got = call<double>(norm(1e-6), {{2, -1, 3, 0}, {1, 0.5, -2, 3}}, {0.3, -1, 0.7, 2});
        check_all(got.y, std::vector{1.0690448149290206, -0.26726120373225515, -3.2071344447870618, 0.0}, 1e-15);
        check_all(got.g[0],
            std::vector{0.3970737207687795, -0.38561970299696835, -0.3932558726561748, 3.2071344447870618}, 1e-15);
        check_all(got.g[1], std::vector{0.3207134444787062, 0.5345224074645103, 1.1224970556754716, 0.0}, 1e-15);
    });
}

// Kernels take rows in fours: nine rows of all magnitudes are what each is alone, and γ̄ is the sum.
BOOST_AUTO_TEST_CASE(rows_taken_in_fours) {
    on_every_isa([] {
        const std::size_t rows = 9, d = 7;
        const double scales[] = {1, 1e-8, 1e120, 0, 1e-120, 3, 1e200, 1e-3, 2};
        const Array<double> gamma = {1, 0.5, -2, 3, 0.25, -1, 2};
        Array<double> x(std::vector<std::size_t>{rows, d});
        std::vector<double> gy(rows * d);
        for (std::size_t i = 0; i < rows * d; ++i) {
            x.data()[i] = std::sin(static_cast<double>(3 * i + 1)) * scales[i / d];
            gy[i] = std::cos(static_cast<double>(5 * i));
        }
        check_rows_alone(norm(1e-10), {x, gamma}, gy);
    });
}

// G02
BOOST_AUTO_TEST_CASE(zero_row) {
    on_every_isa([] {
        const auto got = call<double>(norm(1e-6), {{0, 0, 0, 0}, {1, 2, 0.5, -1}}, {1, -1, 2, 0.5});
        check_all(got.y, std::vector{0.0, 0.0, 0.0, 0.0}, 0);
        check_all(got.g[0], std::vector{1000.0, -2000.0, 1000.0, -500.0}, 1e-14);
        check_all(got.g[1], std::vector{0.0, 0.0, 0.0, 0.0}, 0);
    });
}

// The squares of 1e-200 and 1e200 under- and overflow; between 1e±150 nothing special happens.
BOOST_AUTO_TEST_CASE(every_magnitude) {
    on_every_isa([] {
        for (const double scale : {1e-300, 1e-200, 1e-120, 1e-8, 1e-3, 1.0, 1e8, 1e120, 1e153, 1e154, 1e200, 5e307})
            BOOST_TEST_CONTEXT("scale " << scale) check_row<double>(times(scale), 1e-6, 5e-15);
        for (const double scale : {1e-38, 1e-30, 1e-8, 1e-3, 1.0, 1e8, 1e18, 1e19, 1e30, 1e38})
            BOOST_TEST_CONTEXT("float, scale " << scale) check_row<float>(times(scale), 1e-6, 2e-6);
    });
}

// ε so small that it, the squares, or both are subnormal.
BOOST_AUTO_TEST_CASE(tiny_eps) {
    on_every_isa([] {
        for (const double eps : {1e-290, 1e-300, 1e-315, 5e-324})
            for (const double scale : {0.0, 1e-170, 1e-162, 1e-155, 1e-145, 1.0})
                BOOST_TEST_CONTEXT("eps " << eps << ", scale " << scale) check_row<double>(times(scale), eps, 2e-14);
    });
}

BOOST_AUTO_TEST_CASE(rows_are_independent) {
    on_every_isa([] {
        const Array<double> x = {{1, 2, 3}, {quiet_nan, 1, 2}, {inf, 1, 2}, {4, 5, 6}};
        const auto got =
            call<double>([](const auto& v) { return chalkgrad::rms_norm(v[0]); }, {x}, std::vector<double>(12, 1));
        const double root = std::sqrt(14 / 3. + 1e-6);
        check_near(got.y[0], 1 / root, 1e-15);
        for (const std::size_t i : {3, 4, 5, 6}) BOOST_TEST(std::isnan(got.y[i]));
        BOOST_TEST(got.y[7] == 0);
        check_near(got.y[9], 4 / std::sqrt(77 / 3. + 1e-6), 1e-15);
        for (const std::size_t i : {0, 1, 2, 9, 10, 11}) BOOST_TEST(std::isfinite(got.g[0][i]));
    });
}

BOOST_AUTO_TEST_CASE(kinds_of_gain) {
    on_every_isa([] {
        const Array<double> x = {{1, -2, 3, 0.5, 1}, {0.1, 0.2, -0.3, 2, 1}};
        const std::vector<double> gy = {1, 2, -1, 0.5, 3, -2, 1, 1, 0.25, -0.5};
        const auto full = call<double>(norm(1e-2), {x, {0.7, 0.7, 0.7, 0.7, 0.7}}, gy);
        const auto number = call<double>(norm(1e-2), {x, Array<double>(0.7)}, gy);
        check_all(number.y, full.y, 1e-15);
        check_all(number.g[0], full.g[0], 1e-15);
        check_near(number.g[1][0], full.g[1][0] + full.g[1][1] + full.g[1][2] + full.g[1][3] + full.g[1][4], 1e-14);
        const auto one_plus =
            call<double>([](const auto& v) { return chalkgrad::rms_norm(v[0], v[1], 1e-2, Gain::one_plus_weight); },
                {x, {-0.3, -0.3, -0.3, -0.3, -0.3}}, gy);
        check_all(one_plus.y, full.y, 1e-15);
        check_all(one_plus.g[0], full.g[0], 1e-15);
        check_all(one_plus.g[1], full.g[1], 1e-14);
    });
}

// G12: widened first. From primitive ops the square of 1000 is inf in half, that of 1e-4 is 0.
BOOST_AUTO_TEST_CASE(half_is_widened_before_squaring) {
    Tape tape;
    const Var<half> x =
        tape.variable(converted<half>(Array<double>({{1000, 1000, 1000, 1000}, {1e-4, 1e-4, 1e-4, 1e-4}})));
    const Var<half> y = chalkgrad::rms_norm(x), composed = rms_norm_composed(x);
    for (std::size_t j = 0; j < 4; ++j) {
        BOOST_TEST(static_cast<float>(y.data()[j]) == 1.0f);
        BOOST_TEST(static_cast<float>(y.data()[4 + j]) == 0.09954833984375f);
        BOOST_TEST(static_cast<float>(composed.data()[j]) == 0.0f);
        BOOST_TEST(static_cast<float>(composed.data()[4 + j]) != 0.09954833984375f);
    }
    y.backward(Array<float>({{1, 0, 0, 0}, {1, 0, 0, 0}}));
    BOOST_TEST(std::isfinite(x.grad()(0, 0)));
}

// G13: the course rounds once, after the gain; Llama before it and again after it.
BOOST_AUTO_TEST_CASE(cast_orders) {
    Tape tape;
    const auto numbers = [](std::initializer_list<double> v) { return converted<bfloat16>(Array<double>(v)); };
    const Var<bfloat16> x = tape.variable(numbers({0.74609375, -1.84375, 1.5703125, -0.09619140625}));
    const Var<bfloat16> w = tape.variable(numbers({1.6796875, 0.86328125, 0.62109375, 1.4609375}));
    const auto check = [&](Cast cast, const std::vector<double>& expected) {
        const Var<bfloat16> y = chalkgrad::rms_norm(x, w, 1e-6, Gain::weight, cast);
        for (std::size_t j = 0; j < 4; ++j) BOOST_TEST(static_cast<float>(y.data()[j]) == expected[j]);
        y.backward(Array<float>({1, 2, -1, 3}));
    };
    check(Cast::before_weight, {0.9921875, -1.2578125, 0.7734375, -0.1103515625});
    const Array<float> gx = x.grad(), gw = w.grad();
    tape.zero_grad();
    check(Cast::after_weight, {0.98828125, -1.2578125, 0.76953125, -0.11083984375});
    for (std::size_t j = 0; j < 4; ++j) {
        check_near(gx(j), x.grad()(j), 0, 0.02);
        check_near(gw(j), w.grad()(j), 0, 0.02);
    }
}

BOOST_AUTO_TEST_CASE(no_rows) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>(std::vector<std::size_t>{0, 3}));
    const Var<double> gamma = tape.variable(Array<double>{1, 2, 3});
    const Var<double> y = chalkgrad::rms_norm(x, gamma);
    y.backward(Array<double>(std::vector<std::size_t>{0, 3}));
    BOOST_TEST(y.shape() == Shape({0, 3}));
    for (const double g : gamma.grad()) BOOST_TEST(g == 0);
}

// G25: nothing is allocated once the loop runs.
BOOST_AUTO_TEST_CASE(steady_loop) {
    Tape tape;
    Array<double> numbers(std::vector<std::size_t>{64, 64});
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers.data()[i] = std::sin(static_cast<double>(i));
    const Var<double> x = tape.variable(numbers);
    const Tape::Mark start = tape.mark();
    double total = 0;
    std::size_t fresh = 0, lines = 0;
    for (int i = 0; i < 1000; ++i) {
        const Var<double> y = chalkgrad::rms_norm(x), loss = mean(y * y);
        loss.backward();
        total += loss.item();
        if (i == 2) {
            fresh = tape.pool().fresh();
            lines = tape.size();
        }
        if (i > 2) BOOST_REQUIRE(tape.size() == lines);
        tape.rewind(start);
    }
    BOOST_TEST(tape.pool().fresh() == fresh);
    check_near(total, 1000, 1e-5);
}

// G29
BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>({{1, 2, 3}, {4, 5, 6}}));
    for (const double eps : {0.0, -1e-6, quiet_nan, inf, -inf})
        check_refused(tape, "rms_norm", [&] { return chalkgrad::rms_norm(x, {}, eps); });
    for (const Array<double>& gamma :
        {Array<double>{1, 2}, Array<double>({{1, 2, 3}}), Array<double>({{1, 2, 3}, {4, 5, 6}})}) {
        const Var<double> g = tape.variable(gamma);
        check_refused(tape, "rms_norm", [&] { return chalkgrad::rms_norm(x, g); });
    }
    const Var<double> number = tape.variable(1.0), empty = tape.variable(Array<double>(std::vector<std::size_t>{2, 0}));
    check_refused(tape, "rms_norm", [&] { return chalkgrad::rms_norm(number); });
    check_refused(tape, "rms_norm", [&] { return chalkgrad::rms_norm(empty); });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_rms_norm
