// rms_norm_floor: both sides of the floor and the floor itself, zero rows, every magnitude.
#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/ops/norm/guarded_root.hpp>

#include "../call.hpp"

namespace test_rms_norm_floor {
BOOST_AUTO_TEST_SUITE(rms_norm_floor)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

auto norm(double floor) {
    return [floor](const auto& v) { return chalkgrad::rms_norm_floor(v[0], floor); };
}

} // namespace

// G03
BOOST_AUTO_TEST_CASE(zero_row) {
    on_every_isa([] {
        const auto fused = call<double>(norm(1e-12), {{0, 0, 0}}, {2, -1, 0.5});
        const auto composed =
            call<double>([](const auto& v) { return rms_norm_floor_composed(v[0], 1e-12); }, {{0, 0, 0}}, {2, -1, 0.5});
        for (const auto& got : {fused, composed}) {
            check_all(got.y, std::vector{0.0, 0.0, 0.0}, 0);
            check_all(got.g[0], std::vector{2e12, -1e12, 0.5e12}, 1e-15);
        }
    });
}

// The row (3, −3) has a root mean square of exactly 3. A cotangent along it tells the branches apart.
BOOST_AUTO_TEST_CASE(at_the_floor) {
    on_every_isa([] {
        const auto at = call<double>(norm(3), {{3, -3}}, {1, -1});
        check_all(at.y, std::vector{1.0, -1.0}, 0);
        check_all(at.g[0], std::vector{0.0, 0.0}, 0);
        const double above = std::nextafter(3.0, 4.0);
        const auto below = call<double>(norm(above), {{3, -3}}, {1, -1});
        check_all(below.g[0], std::vector{1 / 3., -1 / 3.}, 1e-15);
    });
    BOOST_TEST(
        (gradcheck([](const auto& v) { return chalkgrad::rms_norm_floor(v[0], 3); }, {Array<double>{3, -3}}).verdict ==
            Verdict::kink));
}

// Above the floor: y = x/R, x̄ = (ȳ − y ⟨y ȳ⟩)/R with R from long double; far below any square would be 0.
BOOST_AUTO_TEST_CASE(every_magnitude) {
    const std::vector<double> gy = {0.3, -1, 0.7, 2, -0.6};
    on_every_isa([&] {
        for (const double scale : {1e-200, 1e-120, 1e-8, 1.0, 1e120, 1e154, 1e200, 5e307}) {
            BOOST_TEST_CONTEXT("scale " << scale) {
                const Array<double> x = Array<double>{2, -1, 3, 0.5, -0.25} * scale;
                long double squares = 0, along = 0;
                for (const long double v : x) squares += v * v / 5;
                const long double root = std::sqrt(squares);
                for (std::size_t j = 0; j < 5; ++j) along += x(j) / root * gy[j] / 5;
                std::vector<long double> y, gx;
                for (std::size_t j = 0; j < 5; ++j) {
                    y.push_back(x(j) / root);
                    gx.push_back((gy[j] - y.back() * along) / root);
                }
                const auto got = call<double>(norm(1e-250), {x}, gy);
                check_all(got.y, y, 2e-15);
                check_all(got.g[0], gx, 5e-15);
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(rows_take_their_own_side) {
    on_every_isa([] {
        const auto got =
            call<double>(norm(0.01), {{{3, 4}, {0.003, 0.004}, {quiet_nan, 1}, {inf, 1}}}, {1, 0, 1, 0, 1, 0, 1, 0});
        const double root = std::sqrt(12.5);
        check_near(got.y[0], 3 / root, 1e-15);
        check_near(got.g[0][0], (1 - 9 / 25.) / root, 1e-15);
        check_near(got.y[2], 0.3, 1e-15);
        check_near(got.g[0][2], 100, 1e-15);
        BOOST_TEST(got.g[0][3] == 0);
        BOOST_TEST(std::isnan(got.y[4]));
        BOOST_TEST(got.y[7] == 0);
    });
}

BOOST_AUTO_TEST_CASE(float_agrees) {
    const Array<double> x = {{2, -1, 3, 0.5, -0.25}, {1e-3, 2e-3, 0, -1e-3, 1e-3}};
    const std::vector<double> gy = {0.3, -1, 0.7, 2, -0.6, 1, -2, 0.5, 1.5, 0.1};
    const auto d = call<double>(norm(0.1), {x}, gy);
    const auto f = call<float>(norm(0.1), {converted<float>(x)}, converted<float>(gy));
    check_all(f.y, d.y, 1e-6);
    check_all(f.g[0], d.g[0], 1e-6);
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>{1, 2, 3}), number = tape.variable(1.0);
    const Var<double> empty = tape.variable(Array<double>(std::vector<std::size_t>{2, 0}));
    for (const double floor : {0.0, -1e-6, quiet_nan, inf})
        check_refused(tape, "rms_norm_floor", [&] { return chalkgrad::rms_norm_floor(x, floor); });
    check_refused(tape, "rms_norm_floor", [&] { return chalkgrad::rms_norm_floor(number); });
    check_refused(tape, "rms_norm_floor", [&] { return chalkgrad::rms_norm_floor(empty); });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_rms_norm_floor
