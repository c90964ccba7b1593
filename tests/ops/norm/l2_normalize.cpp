// l2_normalize: both guards, zero rows, a length of exactly the floor, every magnitude.
#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/ops/norm/guarded_root.hpp>

#include "../call.hpp"

namespace test_l2_normalize {
BOOST_AUTO_TEST_SUITE(l2_normalize)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

auto norm(double eps, Guard guard) {
    return [eps, guard](const auto& v) { return chalkgrad::l2_normalize(v[0], eps, guard); };
}

} // namespace

BOOST_AUTO_TEST_CASE(three_four_five) {
    on_every_isa([] {
        const auto floor = call<double>(norm(1e-12, Guard::floor), {{3, 4}}, {1, 0});
        check_all(floor.y, std::vector{0.6, 0.8}, 1e-15);
        check_all(floor.g[0], std::vector{(1 - 0.36) / 5, -0.48 / 5}, 1e-15);
        // √(25 + 11) = 6: y = x/6, and the projection is not quite one.
        const auto additive = call<double>(norm(11, Guard::additive), {{3, 4}}, {1, 0});
        check_all(additive.y, std::vector{0.5, 4 / 6.}, 1e-15);
        check_all(additive.g[0], std::vector{(1 - 0.25) / 6, -(1 / 3.) / 6}, 1e-15);
    });
}

BOOST_AUTO_TEST_CASE(zero_rows) {
    on_every_isa([] {
        const auto floor = call<double>(norm(1e-12, Guard::floor), {{0, 0}}, {2, -1});
        check_all(floor.y, std::vector{0.0, 0.0}, 0);
        check_all(floor.g[0], std::vector{2e12, -1e12}, 1e-15);
        const auto additive = call<double>(norm(1e-12, Guard::additive), {{0, 0}}, {2, -1});
        check_all(additive.y, std::vector{0.0, 0.0}, 0);
        check_all(additive.g[0], std::vector{2e6, -1e6}, 1e-15);
    });
}

BOOST_AUTO_TEST_CASE(at_the_floor) {
    on_every_isa([] {
        const auto at = call<double>(norm(5, Guard::floor), {{3, 4}}, {3, 4});
        for (const double g : at.g[0]) check_near(g, 0, 0, 1e-15);
        check_all(call<double>(norm(5.000001, Guard::floor), {{3, 4}}, {3, 4}).g[0], std::vector{0.6, 0.8}, 1e-6);
    });
    BOOST_TEST(
        (gradcheck([](const auto& v) { return chalkgrad::l2_normalize(v[0], 5); }, {Array<double>{3, 4}}).verdict ==
            Verdict::kink));
}

BOOST_AUTO_TEST_CASE(every_magnitude) {
    on_every_isa([] {
        for (const double scale : {1e-200, 1e-120, 1e-8, 1.0, 1e120, 1e154, 1e200, 3e307})
            for (const Guard guard : {Guard::floor, Guard::additive}) {
                BOOST_TEST_CONTEXT("scale " << scale) {
                    const auto got = call<double>(norm(1e-320, guard), {{3 * scale, 4 * scale}}, {scale, 0});
                    const double root = guard == Guard::floor ? 0 : std::sqrt(1e-320) / (5 * scale);
                    const double length = std::hypot(1, root);
                    check_all(got.y, std::vector{0.6 / length, 0.8 / length}, 2e-15);
                    check_all(got.g[0],
                        std::vector{(1 - 0.36 / length / length) / 5 / length, -0.48 / length / length / 5 / length},
                        5e-15);
                }
            }
    });
}

BOOST_AUTO_TEST_CASE(float_agrees) {
    const Array<double> x = {{2, -1, 3, 0.5, -0.25}, {1e-3, 2e-3, 0, -1e-3, 1e-3}};
    const std::vector<double> gy = {0.3, -1, 0.7, 2, -0.6, 1, -2, 0.5, 1.5, 0.1};
    for (const Guard guard : {Guard::floor, Guard::additive}) {
        const auto d = call<double>(norm(0.1, guard), {x}, gy);
        const auto f = call<float>(norm(0.1, guard), {converted<float>(x)}, converted<float>(gy));
        check_all(f.y, d.y, 1e-6);
        check_all(f.g[0], d.g[0], 1e-6);
    }
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>{1, 2, 3}), number = tape.variable(1.0);
    for (const double eps : {0.0, -1e-6, quiet_nan, inf})
        check_refused(tape, "l2_normalize", [&] { return chalkgrad::l2_normalize(x, eps); });
    check_refused(tape, "l2_normalize", [&] { return chalkgrad::l2_normalize(number); });
    BOOST_CHECK_THROW(guard_of("l2_normalize", "none"), Error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_l2_normalize
