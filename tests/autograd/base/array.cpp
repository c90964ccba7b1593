// Arrays: the cure for xtensor's temporaries under C++20, and that ops do not inherit its traps.
#include <boost/test/unit_test.hpp>

#include <sstream>

#include <xtensor/xmath.hpp>

#include <chalkgrad/autograd/tape/tape.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

namespace test_array {
BOOST_AUTO_TEST_SUITE(array)

using namespace chalkgrad;
using Doubles = Array<double>;

namespace {

void expect(const Doubles& got, const Doubles& want, double tolerance = 1e-15) {
    BOOST_REQUIRE((got.shape() == want.shape()));
    for (std::size_t i = 0; i < want.size(); ++i)
        BOOST_TEST(std::abs(got.data()[i] - want.data()[i]) <= tolerance * std::abs(want.data()[i]));
}

} // namespace

BOOST_AUTO_TEST_CASE(immediate_reductions_keep_their_memory) { // G44
    const Doubles a{{1, 2, 3}, {4, 5, 7}};
    static_assert(std::is_same_v<decltype(xt::eval(a + a)), Doubles>);
    const Doubles at_once = xt::mean(a, {1}, xt::evaluation_strategy::immediate);
    expect(at_once, {2, 16. / 3});
    const Doubles evaluated = xt::eval(xt::sum(a, {1}));
    expect(evaluated, {6, 16});
    // xt::variance(a, 1) is one number with divisor 5; ours takes the axis and divides by the count.
    Tape tape;
    expect(var_biased(tape.constant(a), {1}).value(), {2. / 3, 14. / 9});
}

BOOST_AUTO_TEST_CASE(results_are_owned) { // G45
    Tape tape;
    Doubles a{1, 2};
    const auto e = tape.constant(a) * 10;
    a(0) = 5;
    expect(e.value(), {10, 20});
    const auto squared = [&] {
        const double c = 1;
        return square(tape.constant(Doubles{1, 2, 3, 4}) * c);
    };
    expect(squared().value(), {1, 4, 9, 16});
}

BOOST_AUTO_TEST_CASE(a_row_minus_its_mean) { // G47
    Tape tape;
    const auto a = tape.variable(Doubles{{3, 1, 2}, {4, 7, 5}});
    expect((a - mean(a, {1}, true)).value(), {{1, -1, 0}, {-4. / 3, 5. / 3, -1. / 3}}, 1e-14);
    expect((a / sum(a, {0}, true)).value(), {{3. / 7, 0.125, 2. / 7}, {4. / 7, 0.875, 5. / 7}});
    expect(layer_norm(a, {}, {}, 1e-30).value(),
        {{std::sqrt(1.5), -std::sqrt(1.5), 0}, {-4 / std::sqrt(14.), 5 / std::sqrt(14.), -1 / std::sqrt(14.)}}, 1e-14);
}

template <class T> std::string text(const T& x) {
    std::ostringstream out;
    out << x;
    return out.str();
}

BOOST_AUTO_TEST_CASE(arrays_and_shapes_print) { // with these headers alone
    const Doubles a{{1, 2.5, -3}, {0, 1e-9, 4}};
    BOOST_TEST(text(a) == "[[1, 2.5, -3],\n [0, 1e-09, 4]]");
    BOOST_TEST(text(2. * a) == "[[2, 5, -6],\n [0, 2e-09, 8]]"); // lazy
    BOOST_TEST(text(xt::xarray<int>{12345678, 2}) == "[12345678, 2]");
    BOOST_TEST(text(Array<float>{0.1f}) == "[0.1]");
    BOOST_TEST(text(Array<Dual<double>>{Dual<double>(2, 1)}) == "[2]");
    BOOST_TEST(text(Doubles(3.)) == "3");
    BOOST_TEST(text(a.shape()) == "(2, 3)");
    BOOST_TEST(a.shape() == a.shape()); // and in Boost.Test
    BOOST_TEST(Shape(a.shape()) == (Shape{2, 3}));
    BOOST_TEST(Shape(std::vector<int>{4, 0}) == (Shape{4, 0}));
    BOOST_TEST(text(Shape()) == "()");
    BOOST_TEST((Shape(Doubles{{1, 2}}.shape()) == Shape{1, 2})); // one row
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_array
