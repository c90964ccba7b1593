// add, sub, mul, div: broadcasting backward, the same operand twice, plain numbers, the zero cotangent, refusals.
#include "unary.hpp"

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace test_arithmetic {
BOOST_AUTO_TEST_SUITE(arithmetic)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

// The gradient of `x` summed over the axes along which it was repeated, term by term: what unb means.
Array<double> summed_to(const Shape& x, const Shape& y, const std::vector<double>& terms) {
    Array<double> sum(std::vector<std::size_t>(x.begin(), x.end()));
    sum.fill(0);
    for (std::size_t flat = 0; flat < terms.size(); ++flat) {
        std::size_t rest = flat, offset = 0, stride = 1;
        for (std::size_t k = 0; k < y.rank(); ++k) { // axes from the last one
            const std::size_t axis = y.rank() - 1 - k, index = rest % y[axis];
            rest /= y[axis];
            if (k >= x.rank()) continue;
            const std::size_t extent = x[x.rank() - 1 - k];
            if (extent != 1) offset += index * stride;
            stride *= extent;
        }
        sum.data()[offset] += terms[flat];
    }
    return sum;
}

Array<double> numbers(const Shape& shape, double first, double step) {
    Array<double> x(std::vector<std::size_t>(shape.begin(), shape.end()));
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = first + step * static_cast<double>(i);
    return x;
}

void check_equal(const Array<double>& got, const Array<double>& expected) {
    BOOST_TEST_REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) check_near(got.data()[i], expected.data()[i], 1e-14);
}

} // namespace

// Every way of lining shapes up; one of them longer than a row that the walk hands out at once.
BOOST_AUTO_TEST_CASE(a_repeated_operand_gets_the_sum) {
    const std::pair<Shape, Shape> shapes[] = {{{3, 5}, {3, 5}}, {{2, 3, 5}, {5}}, {{3, 1}, {3, 5}}, {{4, 1, 3}, {2, 1}},
        {{2, 3}, {}}, {{}, {2, 3}}, {{2, 1, 3}, {1, 4, 1}}, {{1, 1}, {7}}, {{2, 1025}, {2, 1}}, {{1025}, {3, 1025}},
        {{3, 2, 2, 3}, {2, 1, 3}}};
    on_every_isa([&] {
        for (const auto& [sa, sb] : shapes) {
            BOOST_TEST_CONTEXT(sa << " with " << sb) {
                Tape tape;
                const Var<double> a = tape.variable(numbers(sa, -2, 0.37)), b = tape.variable(numbers(sb, 1.5, 0.21));
                const Var<double> y = a / b;
                const Shape sy = broadcast("test", sa, sb);
                BOOST_TEST_REQUIRE(y.shape() == sy);
                const Var<double> wide_a = a + tape.constant(numbers(sy, 0, 0)),
                                  wide_b = b + tape.constant(numbers(sy, 0, 0));
                const Array<double> w = numbers(sy, 1, -0.13);
                y.backward(w);
                std::vector<double> ta, tb;
                for (std::size_t i = 0; i < sy.size(); ++i) {
                    const double p = wide_a.data()[i], q = wide_b.data()[i];
                    check_near(y.data()[i], p / q, 1e-15);
                    ta.push_back(w.data()[i] / q);
                    tb.push_back(-w.data()[i] * p / (q * q));
                }
                // Sums of terms of both signs: compared on the scale of the terms.
                const auto compare = [&](const Array<double>& got, const Array<double>& expected, std::size_t repeats) {
                    BOOST_TEST_REQUIRE(got.size() == expected.size());
                    for (std::size_t i = 0; i < got.size(); ++i)
                        check_near(
                            got.data()[i], expected.data()[i], 1e-13, 1e-13 * 100 * static_cast<double>(repeats));
                };
                compare(a.grad(), summed_to(sa, sy, ta), sy.size() / sa.size());
                compare(b.grad(), summed_to(sb, sy, tb), sy.size() / sb.size());
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(slopes_of_all_four) {
    Tape tape;
    const Array<double> w = {1., -2., 0.5};
    const auto check = [&](auto op, const Array<double>& ga, const Array<double>& gb) {
        const Var<double> a = tape.variable(Array<double>{3., -1., 0.5}), b = tape.variable(Array<double>{2., 4., -8.});
        op(a, b).backward(w);
        check_equal(a.grad(), ga);
        check_equal(b.grad(), gb);
    };
    check([](auto& a, auto& b) { return a + b; }, {1., -2., 0.5}, {1., -2., 0.5});
    check([](auto& a, auto& b) { return a - b; }, {1., -2., 0.5}, {-1., 2., -0.5});
    check([](auto& a, auto& b) { return a * b; }, {2., -8., -4.}, {3., 2., 0.25});
    check([](auto& a, auto& b) { return a / b; }, {0.5, -0.5, -0.0625}, {-0.75, -0.125, -0.00390625});
}

BOOST_AUTO_TEST_CASE(the_same_operand_twice) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>{3., -1.});
    (x * x + x - x / x).backward(Array<double>{1., 10.});
    check_equal(x.grad(), {7., -10.});
    const Var<double> z = tape.variable(Array<double>{3., inf});
    (z - z).backward(Array<double>{5., 5.});
    check_equal(z.grad(), {0., 0.});
}

BOOST_AUTO_TEST_CASE(plain_numbers_on_either_side) {
    Tape tape;
    const Var<double> x = tape.variable(Array<double>{2., 4.});
    const Var<double> y = 1 - 3 / (2 * x + 1) - x / 4;
    check_equal(y.value(), {1 - 3 / 5. - 0.5, 1 - 3 / 9. - 1.});
    y.backward(Array<double>{1., 1.});
    check_equal(x.grad(), {6 / 25. - 0.25, 6 / 81. - 0.25});
    check_equal((-x).value(), {-2., -4.});
    const Var<half> h = tape.variable(Array<half>{half(3.0f)});
    BOOST_TEST(static_cast<float>((2 * h).value()(0)) == 6.0f);
}

// −(ȳ/b) y, where −ȳ a/b² would leave the range of doubles.
BOOST_AUTO_TEST_CASE(quotients_far_out) {
    Tape tape;
    const Var<double> a = tape.variable(Array<double>{1e-200, 1e200}), b = tape.variable(Array<double>{1e-180, 1e180});
    (a / b).backward(Array<double>{1., 1.});
    check_near(b.grad()(0), -1e160, 1e-14);
    check_near(b.grad()(1), -1e-160, 1e-14);
}

// G01: what `where` sends to the branch it did not take.
BOOST_AUTO_TEST_CASE(a_zero_cotangent_gives_zero) {
    on_every_isa([] {
        for (const std::size_t n : {1, 7}) {
            for (const double special : {0.0, inf, quiet_nan}) {
                Tape tape;
                const Array<double> values = numbers({n}, special, 0), zero = numbers({n}, 0, 0);
                const Var<double> a = tape.variable(values), b = tape.variable(values);
                (a / b).backward(zero);
                (a * b).backward(zero);
                for (const Var<double>& x : {a, b})
                    for (const double g : x.grad()) BOOST_TEST(g == 0);
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(empty_arrays) {
    Tape tape;
    const Var<double> none = tape.variable(Array<double>(std::vector<std::size_t>{0, 3})),
                      row = tape.variable(Array<double>{1., 2., 3.});
    const Var<double> y = none * row;
    BOOST_TEST(y.shape() == (Shape{0, 3}));
    y.backward(Array<double>(std::vector<std::size_t>{0, 3}));
    check_equal(row.grad(), {0., 0., 0.});
}

BOOST_AUTO_TEST_CASE(refusals_name_the_op_and_both_shapes) {
    Tape tape;
    const Var<double> a = tape.variable(numbers({2, 3}, 0, 1)), b = tape.variable(numbers({2}, 0, 1));
    try {
        mul(a, b);
        BOOST_ERROR("mul took (2, 3) and (2)");
    } catch (const Error& error) {
        const std::string message = error.what();
        for (const char* part : {"mul", "(2, 3)", "(2)"}) BOOST_TEST(message.find(part) != std::string::npos, message);
    }
    Tape other;
    BOOST_CHECK_THROW(add(a, other.variable(1.0)), Error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_arithmetic
