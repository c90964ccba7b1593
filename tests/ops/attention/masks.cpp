// Mask builders: who sees whom.
#include "../arrays.hpp"

#include <chalkgrad/ops/attention/masks.hpp>

namespace test_masks {
BOOST_AUTO_TEST_SUITE(masks)

using namespace chalkgrad;
using namespace chalkgrad::testing;

BOOST_AUTO_TEST_CASE(causal) {
    check_array(causal_mask(3), array({3, 3}, {0, -inf, -inf, 0, 0, -inf, 0, 0, 0}));
    check_array(causal_mask(2, 4, 1), array({2, 4}, {0, 0, -inf, -inf, 0, 0, 0, -inf})); // after one cached key
    BOOST_TEST(causal_mask(0).size() == 0u);
}

BOOST_AUTO_TEST_CASE(window) {
    check_array(window_mask(4, 4, 2),
        array({4, 4}, {0, -inf, -inf, -inf, 0, 0, -inf, -inf, -inf, 0, 0, -inf, -inf, -inf, 0, 0}));
    check_array(window_mask(1, 4, 2, 3), array({1, 4}, {-inf, -inf, 0, 0}));
    check_array(window_mask(5, 5, 9), causal_mask(5));
    check_refused([] { window_mask(2, 2, 0); }, "window_mask", {"at least 1"});
}

BOOST_AUTO_TEST_CASE(padding) {
    check_array(padding_mask({2, 0, 3}, 3), array({3, 1, 1, 3}, {0, 0, -inf, -inf, -inf, -inf, 0, 0, 0}));
    check_refused([] { padding_mask({1, 4}, 3); }, "padding_mask", {"sequence 1", "length 4"});
    const Array<double> both = causal_mask(2) + padding_mask({1, 2}, 2);
    check_array(both, array({2, 1, 2, 2}, {0, -inf, 0, -inf, 0, -inf, 0, 0}));
}

BOOST_AUTO_TEST_CASE(from_what_is_visible) {
    check_array(mask_from(Array<bool>{{true, false}, {false, true}}), array({2, 2}, {0, -inf, -inf, 0}));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_masks
