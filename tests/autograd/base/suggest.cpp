// Mistyped names find their neighbours.
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include <chalkgrad/autograd/base/suggest.hpp>

namespace test_suggest {
BOOST_AUTO_TEST_SUITE(suggest)

using namespace chalkgrad;

BOOST_AUTO_TEST_CASE(near_names_come_first_and_far_ones_not_at_all) {
    const std::vector<std::string> names{"add", "rms_norm", "rms_norm_floor", "layer_norm", "softmax", "log_softmax"};
    using List = std::vector<std::string>;
    BOOST_TEST((close_names("rmsnorm", names) == List{"rms_norm"}));
    BOOST_TEST((close_names("rms_norm_flor", names) == List{"rms_norm_floor", "rms_norm"}));
    BOOST_TEST((close_names("sotfmax", names) == List{"softmax"}));
    BOOST_TEST((close_names("softmax", names) == List{"softmax", "log_softmax"}));
    BOOST_TEST((close_names("dad", names) == List{"add"}));
    BOOST_TEST(close_names("attention", names).empty());
    BOOST_TEST(close_names("", names).empty());
    BOOST_TEST(close_names(std::string(100'000, 'a'), names).empty());
    BOOST_TEST(did_you_mean("rmsnorm", names) == "; did you mean rms_norm?");
    BOOST_TEST(did_you_mean("attention", names) == "");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_suggest
