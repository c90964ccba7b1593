// Parameters and bindings: one line for each on a tape, whatever uses it, in whatever type.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/nn/layers/stack.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

#include "../../ops/arrays.hpp"

namespace test_parameter {
BOOST_AUTO_TEST_SUITE(parameter)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;

BOOST_AUTO_TEST_CASE(a_tied_weight_is_one_leaf_with_the_sum_of_its_gradients) {
    const Parameter w("w", {2, 3}, "ffn", constant(0));
    w.assign(array({2, 3}, {1, 2, 3, 4, 5, 6}));
    const Parameter also = w;
    BOOST_TEST((also == w));
    Tape tape;
    Binding<double> on(tape);
    const auto first = on(w), second = on(also);
    BOOST_TEST(on.variables().size() == 1u);
    BOOST_TEST(on.variables()[0].line() == first.line());
    BOOST_TEST(first.line() == second.line());
    BOOST_TEST(tape.size() == 1u);
    BOOST_TEST(first.name() == "w");
    const auto y = 2 * first + second * second;
    y.backward(array({2, 3}, {1, 1, 1, 1, 1, 10}));
    check_array(on(w).grad(), array({2, 3}, {4, 6, 8, 10, 12, 140}));
}

BOOST_AUTO_TEST_CASE(a_tied_head_gets_both_gradients) {
    // The same numbers in a model with a head of its own: the tied gradient is the sum of the two.
    const BlockOptions block{.d = 4, .attention = {.heads = 2}, .ffn = {.width = 6}};
    const LanguageModel tied({.vocabulary = 5, .blocks = {block}, .tied = true});
    const LanguageModel apart({.vocabulary = 5, .blocks = {block}});
    Generator rng(3);
    initialize_for_check(tied, rng);
    const auto from = parameters_of(tied);
    for (const auto& [name, parameter] : parameters_of(apart))
        for (const auto& [its_name, its] : from)
            if (name == its_name) parameter.assign(its.value());
    Array<double> transposed = xt::transpose(tied.embedding.table.value());
    apart.head.weight.assign(transposed);

    const Array<std::int64_t> ids = {1, 4, 1};
    const Array<double> gy = rng.standard_normal({3, 5});
    Tape a, b;
    Binding<double> on_a(a), on_b(b);
    const auto ya = tied(on_a, ids), yb = apart(on_b, ids);
    check_array(ya.value(), yb.value());
    ya.backward(gy);
    yb.backward(gy);
    const Array<double> head = xt::transpose(on_b(apart.head.weight).grad());
    const Array<double> sum = on_b(apart.embedding.table).grad() + head;
    check_array(on_a(tied.embedding.table).grad(), sum, 1e-13, 1e-15);
    BOOST_TEST(xt::amax(xt::abs(head))() > 0.1);
    BOOST_TEST(parameters_of(tied).back().name == "head.embedding");
}

BOOST_AUTO_TEST_CASE(absent_ones_and_buffers) {
    Tape tape;
    Binding<double> on(tape);
    BOOST_TEST(!on(Parameter()));
    BOOST_TEST(tape.size() == 0u);
    const Parameter mask("mix", {2}, "mhc", constant(0.5), false);
    Generator rng(0);
    initialize({{"mix", mask}}, rng);
    BOOST_TEST(!on(mask).needs_grad());
    check_array(on(mask).value(), array({2}, {0.5, 0.5}));
    check_refused([] { Parameter().value(); }, "parameter", {"absent"});
}

BOOST_AUTO_TEST_CASE(numbers_are_needed_only_where_there_are_values) {
    const Linear linear("wq", 3, 2, true, "attn");
    Tape values;
    Binding<double> on(values);
    check_refused([&] { on(linear.weight); }, "parameter", {"'wq'", "(3, 2)", "initialize"});
    check_refused([&] { on(linear.weight); }, "parameter", {"initialize"}); // not bound by the first try
    Tape shapes(Tape::Mode::shapes_only);
    Binding<double> bound(shapes);
    const auto y = linear(bound, shapes.leaf<double>({5, 3}, nullptr, true, "x"));
    BOOST_TEST((y.shape() == Shape{5, 2}));
    BOOST_TEST(bound.bound().size() == 2u);
    BOOST_TEST(bound.bound()[1].parameter.name() == "bq");
}

BOOST_AUTO_TEST_CASE(numbers_are_rounded_to_the_type_of_the_binding) {
    const Parameter w("w", {2}, "ffn", constant(0));
    w.assign(array({2}, {1.0 / 3, 1 + 1.0 / 256}));
    const auto first = [&]<class T>(T) {
        Tape tape;
        Binding<T> on(tape);
        return static_cast<double>(on(w).value()(0));
    };
    BOOST_TEST(first(0.0) == 1.0 / 3);
    BOOST_TEST(first(0.0f) == static_cast<double>(1.0f / 3));
    BOOST_TEST(first(half()) == 0.333251953125);
    BOOST_TEST(first(bfloat16()) == 0.333984375);
    BOOST_TEST(first(0.0L) == 1.0 / 3);
}

BOOST_AUTO_TEST_CASE(lines_that_stand_for_parameters) {
    const Linear linear("w1", 2, 2, true, "ffn");
    Tape tape;
    Binding<double> on(tape);
    const auto w = tape.variable(array({2, 2}, {1, 2, 3, 4}));
    check_refused([&] { on.bind(linear.weight, tape.variable(array({2}, {1, 2}))); }, "parameter", {"(2, 2)", "(2)"});
    on.bind(linear.weight, w);
    BOOST_TEST(on(linear.weight).line() == w.line());
    check_refused([&] { on.bind(linear.weight, w); }, "parameter", {"already"});
    check_refused([&] { linear.weight.assign(array({4}, {1, 2, 3, 4})); }, "parameter", {"(2, 2)", "(4)"});
}

BOOST_AUTO_TEST_CASE(initialize_draws_in_order_and_a_tied_one_once) {
    const Linear linear("w1", 100, 50, true, "ffn");
    Generator rng(7), again(7);
    initialize({{"a", linear.weight}, {"b", linear.weight}, {"c", linear.bias}}, rng);
    check_array(linear.weight.value(), again.normal(0, 0.1, {100, 50}));
    BOOST_TEST(rng.raw() == again.raw());
    check_array(linear.bias.value(), Array<double>(std::vector<std::size_t>{50}, 0.0));
    initialize_for_check(linear, rng);
    BOOST_TEST(xt::amin(xt::abs(linear.bias.value()))() > 0);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_parameter
