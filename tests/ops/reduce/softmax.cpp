// softmax and its logarithm: masks, hidden rows, overflow, axes, both instruction sets.
#include "../arrays.hpp"

#include <chalkgrad/ops/attention/masks.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/elementwise/softcap.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>

namespace test_softmax {
BOOST_AUTO_TEST_SUITE(softmax)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

template <class T> Var<T> soft(const std::vector<Var<T>>& x) {
    return chalkgrad::softmax(x[0], -1, x.size() > 1 ? x[1] : Var<T>());
}
template <class T> Var<T> log_soft(const std::vector<Var<T>>& x) {
    return log_softmax(x[0], -1, x.size() > 1 ? x[1] : Var<T>());
}

} // namespace

// G15: a cotangent of ones sees nothing of this gradient.
BOOST_AUTO_TEST_CASE(values_and_slopes) {
    on_every_isa([] {
        const Array<double> x = array({3}, {1, 2, -0.5});
        const auto got = gradients<double>(soft<double>, {x}, array({3}, {0.2, -1, 3}));
        check_array(got.y, array({3}, {0.2537161816350252, 0.6896720861245035, 0.05661173224047128}), 1e-15);
        check_array(got.gx[0], array({3}, {0.16975988681469442, -0.3661512878197561, 0.19639140100506167}), 1e-14);
        check_array(gradients<double>(soft<double>, {x}, array({3}, {1, 1, 1})).gx[0], array({3}, {0, 0, 0}), 0, 1e-15);
        const auto log = gradients<double>(log_soft<double>, {x}, array({3}, {0.2, -1, 3}));
        for (std::size_t i = 0; i < 3; ++i) {
            check_near(log.y(i), std::log(got.y(i)), 1e-15);
            check_near(log.gx[0](i), std::vector<double>{0.2, -1, 3}[i] - got.y(i) * 2.2, 1e-14);
        }
    });
}

BOOST_AUTO_TEST_CASE(far_beyond_exp) {
    on_every_isa([] {
        const Array<double> x = array({3, 3}, {1e4, 0, 1e4, 0, -1000, -2000, -1e300, 1e300, 0});
        const auto got = gradients<double>(soft<double>, {x}, array({3, 3}, {1, 2, 3, 1, 2, 3, 1, 2, 3}));
        check_array(got.y, array({3, 3}, {0.5, 0, 0.5, 1, 0, 0, 0, 1, 0}));
        check_array(got.gx[0], array({3, 3}, {-0.5, 0, 0.5, 0, 0, 0, 0, 0, 0}));
        const auto log = gradients<double>(log_soft<double>, {x}, array({3, 3}, {1, 0, 0, 0, 1, 0, 0, 1, 0}));
        check_array(log.y,
            array({3, 3}, {-std::log(2), -1e4 - std::log(2), -std::log(2), 0, -1000, -2000, -2e300, 0, -1e300}), 1e-15,
            1e-12);
        check_array(log.gx[0], array({3, 3}, {0.5, 0, -0.5, -1, 1, 0, 0, 0, 0}), 1e-15);
    });
}

BOOST_AUTO_TEST_CASE(hidden_entries_and_hidden_rows) {
    on_every_isa([] {
        const Array<double> x = array({3, 3}, {1, 5, 2, 3, 4, 5, 1, 1, 1});
        const Array<double> mask = array({3, 3}, {0, -inf, 0, -inf, -inf, -inf, -1e9, -1e9, -1e9}),
                            gy = array({3, 3}, {1, inf, 3, 4, 5, 6, 1, 2, 3});
        auto got = gradients<double>(soft<double>, {x, mask}, array({3, 3}, {1, 7, 3, 4, 5, 6, 1, 2, 3}));
        const double p = 1 / (1 + std::exp(1.0)), q = 1 - p;
        check_array(got.y, array({3, 3}, {p, 0, q, 0, 0, 0, 1. / 3, 1. / 3, 1. / 3}), 1e-15);
        check_array(got.gx[0], array({3, 3}, {-2 * p * q, 0, 2 * p * q, 0, 0, 0, -1. / 3, 0, 1. / 3}), 1e-14, 1e-16);
        check_array(got.gx[1], got.gx[0]); // a mask is a shift
        got = gradients<double>(log_soft<double>, {x, mask}, gy);
        check_array(got.y,
            array({3, 3}, {std::log(p), -inf, std::log(q), -inf, -inf, -inf, -std::log(3), -std::log(3), -std::log(3)}),
            1e-14);
        check_array(got.gx[0], array({3, 3}, {1 - 4 * p, 0, 3 - 4 * q, 0, 0, 0, -1, 0, 1}), 1e-14, 1e-15);
    });
}

BOOST_AUTO_TEST_CASE(special_values_stay_in_their_row) {
    on_every_isa([] {
        for (const double bad : {quiet_nan, inf}) {
            const auto got = gradients<double>(
                soft<double>, {array({3, 2}, {0, 0, bad, 1, 0, 0})}, array({3, 2}, {1, 0, 1, 0, 1, 0}));
            check_array(got.y, array({3, 2}, {0.5, 0.5, quiet_nan, quiet_nan, 0.5, 0.5}));
            check_array(got.gx[0], array({3, 2}, {0.25, -0.25, quiet_nan, quiet_nan, 0.25, -0.25}));
            BOOST_TEST(
                std::isnan(gradients<double>(log_soft<double>, {array({2}, {bad, 1})}, array({2}, {1, 0})).y(0)));
        }
    });
}

BOOST_AUTO_TEST_CASE(another_axis_is_a_transpose) {
    Generator rng(5);
    const Array<double> x = rng.standard_normal({3, 17, 2}), mask = rng.standard_normal({17, 1}),
                        gy = rng.standard_normal({3, 17, 2});
    const auto direct = gradients<double>([](auto& v) { return chalkgrad::softmax(v[0], 1, v[1]); }, {x, mask}, gy);
    const auto turned = gradients<double>(
        [](auto& v) {
            return transpose(chalkgrad::softmax(transpose(v[0] + v[1], {0, 2, 1})), {0, 2, 1});
        },
        {x, mask}, gy);
    check_array(direct.y, turned.y, 1e-15);
    check_array(direct.gx[0], turned.gx[0], 1e-13, 1e-16);
    check_array(direct.gx[1], turned.gx[1], 1e-13, 1e-15);
    const auto log = gradients<double>([](auto& v) { return exp(log_softmax(v[0], 1, v[1])); }, {x, mask}, gy);
    check_array(log.y, direct.y, 1e-14);
    check_array(log.gx[0], direct.gx[0], 1e-13, 1e-15);
}

BOOST_AUTO_TEST_CASE(only_the_mask_learns) {
    Tape tape;
    const Var<double> x = tape.constant(array({2, 2}, {1, 2, 3, 4})), mask = tape.variable(array({2}, {0.5, 0}));
    chalkgrad::softmax(x, -1, mask).backward(array({2, 2}, {1, 0, 1, 0}));
    const double p = 1 / (1 + std::exp(0.5));
    check_array(mask.grad(), array({2}, {2 * p * (1 - p), -2 * p * (1 - p)}), 1e-14);
}

// G10: the cap comes before the mask, or the hidden key is seen again.
BOOST_AUTO_TEST_CASE(cap_before_mask) {
    const Array<double> mask = mask_from(Array<bool>{true, false, true});
    Tape tape;
    const Var<double> s = tape.variable(array({3}, {3, 10, -4}));
    const Var<double> p = chalkgrad::softmax(softcap(s, 2), -1, tape.constant(mask));
    check_array(p.value(), array({3}, {0.976759673743599, 0, 0.02324032625640104}), 1e-14);
    p.backward(array({3}, {1, 3, -2}));
    check_array(s.grad(), array({3}, {0.01230623784890994, 0, -0.0048113664226363834}), 1e-12);
}

BOOST_AUTO_TEST_CASE(shapes_and_refusals) {
    Tape tape;
    const Var<double> x = tape.variable(array({2, 3}, {1, 2, 3, 4, 5, 6}));
    BOOST_TEST(chalkgrad::softmax(tape.variable(Array<double>::from_shape({2, 0}))).size() == 0u);
    BOOST_TEST(chalkgrad::softmax(tape.variable(Array<double>::from_shape({0, 3})), 0).size() == 0u);
    check_array(chalkgrad::softmax(tape.variable(array({2, 1}, {-inf, 9}))).value(), array({2, 1}, {0, 1}));
    check_refused([&] { chalkgrad::softmax(tape.variable(1.0)); }, "softmax", {"()"});
    check_refused([&] { chalkgrad::softmax(x, 2); }, "softmax", {"axis 2"});
    check_refused([&] { chalkgrad::softmax(x, -1, tape.constant(array({2}, {0, 0}))); }, "softmax", {"(2)", "(2, 3)"});
    check_refused([&] { log_softmax(x, -1, tape.constant(array({2, 1, 1}, {0, 0}))); }, "log_softmax", {"mask"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_softmax
