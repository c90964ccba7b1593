// Ops that only move numbers: where each number goes, what comes back, refusals.
#include "../arrays.hpp"

#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>

namespace test_shape_ops {
BOOST_AUTO_TEST_SUITE(shape_ops)

using namespace chalkgrad;
using namespace chalkgrad::testing;

BOOST_AUTO_TEST_CASE(reshape_keeps_the_order) {
    Tape tape;
    const Var<double> x = tape.variable(counting({3, 4}));
    check_array(reshape(x, {2, -1}).value(), counting({2, 6}));
    check_array(reshape(x, {-1}).value(), counting({12}));
    BOOST_TEST(reshape(tape.variable(counting({1, 1})), {}).shape() == Shape());
    BOOST_TEST(reshape(tape.variable(Array<double>::from_shape({0, 4})), {2, 0}).shape() == Shape({2, 0}));
    const Var<double> y = reshape(x, {4, 3});
    y.backward(counting({4, 3}));
    check_array(x.grad(), counting({3, 4}));
    check_refused([&] { reshape(x, {5, 3}); }, "reshape", {"(3, 4)", "5, 3"});
    check_refused([&] { reshape(x, {-1, -1}); }, "reshape", {"only one"});
    check_refused([&] { reshape(x, {-1, 5}); }, "reshape", {"-1"});
    check_refused([&] { reshape(x, {-1, 0}); }, "reshape", {"-1"});
    check_refused([&] { reshape(x, {-2, -6}); }, "reshape", {"0 or more"});
    check_refused([&] { reshape(x, {std::ptrdiff_t(1) << 32, std::ptrdiff_t(1) << 32}); }, "reshape", {"differ"});
}

BOOST_AUTO_TEST_CASE(transpose_moves_axes) {
    Tape tape;
    const Var<double> x = tape.variable(counting({3, 4, 5}));
    const Var<double> y = transpose(x, {2, 0, -2});
    BOOST_TEST_REQUIRE(y.shape() == Shape({5, 3, 4}));
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 4; ++j)
            for (std::size_t k = 0; k < 5; ++k) BOOST_TEST(y.value()(k, i, j) == x.value()(i, j, k));
    y.backward(y.value());
    check_array(x.grad(), x.value()); // there and back
    BOOST_TEST(transpose(x).shape() == Shape({5, 4, 3}));
    BOOST_TEST(transpose(x).value()(4, 2, 1) == x.value()(1, 2, 4));
    BOOST_TEST(transpose(tape.variable(2.0)).item() == 2);
    check_refused([&] { transpose(x, {0, 1}); }, "transpose", {"3 axes"});
    check_refused([&] { transpose(x, {0, 1, -3}); }, "transpose", {"twice"});
    check_refused([&] { transpose(x, {0, 1, 3}); }, "transpose", {"axis 3"});
}

BOOST_AUTO_TEST_CASE(transpose_beyond_tiles) {
    Tape tape;
    const Var<double> x = tape.variable(counting({37, 2, 50}));
    const Var<double> y = transpose(x);
    for (std::size_t i = 0; i < 37; ++i)
        for (std::size_t j = 0; j < 2; ++j)
            for (std::size_t k = 0; k < 50; ++k) BOOST_REQUIRE(y.value()(k, j, i) == x.value()(i, j, k));
    y.backward(y.value());
    check_array(x.grad(), x.value());
}

BOOST_AUTO_TEST_CASE(concat_and_cut) {
    Tape tape;
    const Var<double> a = tape.variable(array({2, 2}, {1, 2, 3, 4})), b = tape.variable(array({2, 1}, {5, 6}));
    const Var<double> y = concat({a, b, a}, -1);
    check_array(y.value(), array({2, 5}, {1, 2, 5, 1, 2, 3, 4, 6, 3, 4}));
    y.backward(counting({2, 5}));
    check_array(a.grad(), array({2, 2}, {3, 5, 13, 15})); // both places
    check_array(b.grad(), array({2, 1}, {2, 7}));
    check_array(concat({a, tape.variable(Array<double>::from_shape({0, 2}))}).value(), a.value());
    check_refused([&] { concat({a, b}); }, "concat", {"(2, 1)", "array 1"});
    check_refused([&] { concat({a, b}, 2); }, "concat", {"axis 2"});
    check_refused([&] { concat({tape.variable(1.0)}); }, "concat", {"stack"});
    check_refused([&] { concat(std::vector<Var<double>>()); }, "concat", {"at least one"});
}

BOOST_AUTO_TEST_CASE(stack_and_pick) {
    Tape tape;
    const Var<double> a = tape.variable(array({2, 2}, {1, 2, 3, 4})), b = tape.variable(array({2, 2}, {5, 6, 7, 8}));
    check_array(stack({a, b}).value(), array({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
    check_array(stack({a, b}, 1).value(), array({2, 2, 2}, {1, 2, 5, 6, 3, 4, 7, 8}));
    const Var<double> y = stack({a, b}, -1); // interleaved
    check_array(y.value(), array({2, 2, 2}, {1, 5, 2, 6, 3, 7, 4, 8}));
    y.backward(counting({2, 2, 2}));
    check_array(a.grad(), array({2, 2}, {0, 2, 4, 6}));
    check_array(b.grad(), array({2, 2}, {1, 3, 5, 7}));
    check_array(stack({tape.variable(1.0), tape.variable(2.0)}).value(), array({2}, {1, 2}));
    check_refused([&] { stack({a, b}, 3); }, "stack", {"axis 3"});
    check_refused([&] { stack({a, tape.variable(1.0)}); }, "stack", {"array 1"});
}

// The branch not taken is neither seen nor touched, whatever it holds.
BOOST_AUTO_TEST_CASE(where_keeps_branches_apart) {
    Tape tape;
    const Var<double> a = tape.variable(array({3}, {1, quiet_nan, 3})), b = tape.variable(array({}, {-inf}));
    const Var<double> y = where(a.value() > 0, a, b);
    check_array(y.value(), array({3}, {1, -inf, 3}));
    y.backward(array({3}, {inf, 2, quiet_nan}));
    check_array(a.grad(), array({3}, {inf, 0, quiet_nan}));
    check_array(b.grad(), array({}, {2}));
    Array<bool> column = Array<bool>::from_shape({2, 1});
    column(0, 0) = true;
    column(1, 0) = false;
    const Var<double> z = where(column, a, 2 * a);
    BOOST_TEST(z.shape() == Shape({2, 3}));
    BOOST_TEST(z.value()(1, 2) == 6);
    check_refused([&] { where(Array<bool>{true, false}, a, b); }, "where", {"(2)", "(3)"});
}

BOOST_AUTO_TEST_CASE(repeat_kv_copies_are_neighbours) {
    Tape tape;
    const Var<double> k = tape.variable(counting({2, 1, 2}));
    const Var<double> y = repeat_kv(k, 4);
    check_array(y.value(), array({4, 1, 2}, {0, 1, 0, 1, 2, 3, 2, 3}));
    y.backward(counting({4, 1, 2}));
    check_array(k.grad(), array({2, 1, 2}, {2, 4, 10, 12}));
    check_refused([&] { repeat_kv(k, 3); }, "repeat_kv", {"3", "2 heads"});
    check_refused([&] { repeat_kv(k, 0); }, "repeat_kv", {"0"});
    check_refused([&] { repeat_kv(tape.variable(counting({2, 2})), 4); }, "repeat_kv", {"(2, 2)"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_shape_ops
