// Comparison: what is within its allowance, and which element is furthest off.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/compare.hpp>

namespace test_compare {
BOOST_AUTO_TEST_SUITE(compare)

using namespace chalkgrad;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), NaN = std::numeric_limits<double>::quiet_NaN();

Comparison compare_numbers(double got, double want, const Allowance& allowance) {
    return chalkgrad::compare(
        Array<double>(std::vector<std::size_t>{}, got), Array<double>(std::vector<std::size_t>{}, want), allowance);
}
bool holds(double got, double want, const Allowance& allowance = {}) {
    return compare_numbers(got, want, allowance).holds;
}

} // namespace

BOOST_AUTO_TEST_CASE(relative_and_absolute_parts_add_up) {
    const Allowance allowance{.relative = 0.25, .absolute = 0.5};
    BOOST_TEST(holds(5.5, 4, allowance));
    BOOST_TEST(!holds(5.5000001, 4, allowance));
    BOOST_TEST(holds(-5.5, -4, allowance));
    BOOST_TEST(!holds(5.5, 4, {.relative = 0.25}));
    BOOST_TEST(holds(0.5, 0, allowance));
    BOOST_TEST(holds(4, 4));
    BOOST_TEST(!holds(std::nextafter(4., 5.), 4));
}

BOOST_AUTO_TEST_CASE(ulps_are_those_of_the_storage_type) {
    struct {
        Dtype storage;
        double at_one, at_zero;
    } const types[] = {{Dtype::f32, 0x1p-23, 0x1p-149}, {Dtype::f16, 0x1p-10, 0x1p-24}, {Dtype::bf16, 0x1p-7, 0x1p-133},
        {Dtype::f64, 0x1p-52, 0x1p-1074}};
    for (const auto& [storage, at_one, at_zero] : types) {
        const Allowance two{.ulps = 2, .storage = storage};
        BOOST_TEST(holds(1 + 2 * at_one, 1, two));
        BOOST_TEST(!holds(1 + 3 * at_one, 1, two));
        BOOST_TEST(holds(-2 - 4 * at_one, -2, two));
        BOOST_TEST(holds(2 * at_zero, 0, two));
        BOOST_TEST(!holds(3 * at_zero, 0, two));
        BOOST_TEST(holds(5 * at_zero, 3 * at_zero, two));
        BOOST_TEST(!holds(6 * at_zero, 3 * at_zero, two));
    }
    BOOST_CHECK_THROW(holds(1, 2, {.ulps = 1, .storage = Dtype::f80}), Error);
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_is_met_exactly) {
    const Allowance wide{.relative = 10, .absolute = 1e300, .ulps = 10, .storage = Dtype::f32};
    BOOST_TEST(holds(inf, inf, wide));
    BOOST_TEST(holds(-inf, -inf, wide));
    BOOST_TEST(holds(NaN, NaN, wide));
    BOOST_TEST(!holds(inf, -inf, wide));
    BOOST_TEST(!holds(1e308, inf, wide));
    BOOST_TEST(!holds(inf, 1e308, wide));
    BOOST_TEST(!holds(NaN, 0, wide));
    BOOST_TEST(!holds(0, NaN, wide));
    BOOST_TEST(!holds(NaN, inf, wide));
    BOOST_TEST(compare_numbers(NaN, 0, wide).error == inf);
}

BOOST_AUTO_TEST_CASE(the_worst_element_is_named) {
    const Array<double> want{{1, 2, 400}, {8, 16, 0}};
    Array<double> got = want;
    got(1, 0) = 8.25;
    got(0, 2) = 401;
    const Comparison c = chalkgrad::compare(got, want, {.relative = 0.01});
    BOOST_TEST(!c.holds);
    BOOST_TEST(c.index == (std::vector<std::size_t>{1, 0}), boost::test_tools::per_element());
    BOOST_TEST(c.got == 8.25);
    BOOST_TEST(c.want == 8);
    BOOST_TEST(c.beyond == 1);
    BOOST_TEST(c.error == 1. / 400);
    BOOST_TEST(
        to_string(c) == "at [1, 0]: got 8.25, want 8, relative error 0.0312 (1 of 6 numbers beyond the tolerance)");
    BOOST_TEST(to_string(chalkgrad::compare(want, want, {})) == "at [0, 0]: got 1, want 1, relative error 0");
}

BOOST_AUTO_TEST_CASE(shapes_must_be_the_same) {
    const Comparison c = chalkgrad::compare(Array<double>(std::vector<std::size_t>{2, 3}, 0.0),
        Array<double>(std::vector<std::size_t>{3, 2}, 0.0), {.absolute = inf});
    BOOST_TEST(!c.holds);
    BOOST_TEST(to_string(c) == "got shape (2, 3), want (3, 2)");
    const Array<double> nothing(std::vector<std::size_t>{0, 3});
    BOOST_TEST(chalkgrad::compare(nothing, nothing, {}).holds);
    BOOST_TEST(to_string(chalkgrad::compare(nothing, nothing, {})) == "no numbers");
    BOOST_TEST(!chalkgrad::compare(nothing, Array<double>(std::vector<std::size_t>{0, 2}), {}).holds);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_compare
