// Rows of a table: repeated, unused, out of range.
#include "../arrays.hpp"

#include <chalkgrad/ops/linear/embedding.hpp>

namespace test_embedding {
BOOST_AUTO_TEST_SUITE(embedding)

using namespace chalkgrad;
using namespace chalkgrad::testing;

// G30
BOOST_AUTO_TEST_CASE(repeated_rows_add_up) {
    Tape tape;
    const Var<double> table = tape.variable(array({3, 2}, {1, 2, 3, 4, 5, 6}));
    const Var<double> y = chalkgrad::embedding(table, Array<std::int64_t>{1, 1, 0, 1});
    check_array(y.value(), array({4, 2}, {3, 4, 3, 4, 1, 2, 3, 4}));
    y.backward(array({4, 2}, {1, 0, 0, 2, 5, 5, -3, 1}));
    check_array(table.grad(), array({3, 2}, {5, 5, -2, 3, 0, 0}));
}

BOOST_AUTO_TEST_CASE(shapes) {
    Tape tape;
    const Var<double> table = tape.variable(array({3, 2}, {1, 2, 3, 4, 5, quiet_nan}));
    check_array(chalkgrad::embedding(table, Array<std::int64_t>(1)).value(), array({2}, {3, 4}));
    check_array(
        chalkgrad::embedding(table, array<std::int64_t>({2, 1}, {0, 1})).value(), array({2, 1, 2}, {1, 2, 3, 4}));
    const Var<double> none = chalkgrad::embedding(table, Array<std::int64_t>::from_shape({0}));
    BOOST_TEST(none.shape() == Shape({0, 2}));
    none.backward(Array<double>::from_shape({0, 2}));
    check_array(table.grad(), array({3, 2}, {0, 0, 0, 0, 0, 0}));
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> table = tape.variable(array({3, 2}, {1, 2, 3, 4, 5, 6}));
    check_refused([&] { chalkgrad::embedding(table, Array<std::int64_t>{0, 3}); }, "embedding", {"id 3", "(3, 2)"});
    check_refused([&] { chalkgrad::embedding(table, Array<std::int64_t>{-1}); }, "embedding", {"id -1"});
    check_refused(
        [&] {
            chalkgrad::embedding(tape.variable(array({2}, {1, 2})), Array<std::int64_t>{0});
        },
        "embedding", {"(V, D)"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_embedding
