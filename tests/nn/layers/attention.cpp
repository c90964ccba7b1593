// Grouped-query attention as a module: what a query may see, which heads know of each other, what is refused.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/nn/layers/stack.hpp>
#include <chalkgrad/ops/attention/masks.hpp>

#include "../../ops/arrays.hpp"

namespace test_attention {
BOOST_AUTO_TEST_SUITE(attention)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;

namespace {

/// The largest |∂y_i/∂x_j| over pairs of tokens that `which` picks. x and y are (…, T, d).
template <class Which> double largest(const Array<double>& jacobian, const Shape& shape, Which which) {
    const std::size_t d = shape.last(), tokens = shape[shape.rank() - 2];
    double found = 0;
    for (std::size_t r = 0; r < shape.size(); ++r)
        for (std::size_t c = 0; c < shape.size(); ++c)
            if (which(r / d % tokens, c / d % tokens)) found = std::max(found, std::abs(jacobian(r, c)));
    return found;
}

/// The largest |∂y[:, one head]/∂w[:, another head]| of a projection's matrix, the output matrix being the identity.
double coupling(const GroupedAttentionOptions& options, bool keys) {
    const GroupedAttention attention(options);
    const std::size_t d = options.d, width = d / options.heads;
    Generator rng(11);
    initialize_for_check(attention, rng);
    attention.wo.weight.assign(xt::eye<double>(d));
    Tape tape;
    Binding<double> on(tape);
    const auto y = attention(on, tape.variable(rng.standard_normal({5, d})));
    const Array<double> j = jacobian(y, on((keys ? attention.wk : attention.wq).weight));
    double across = 0;
    for (std::size_t r = 0; r < j.shape()[0]; ++r)
        for (std::size_t c = 0; c < j.shape()[1]; ++c)
            if (r % d / width != c % d / width) across = std::max(across, std::abs(j(r, c)));
    return across;
}

} // namespace

BOOST_AUTO_TEST_CASE(no_causal_block_or_stack_looks_ahead) {
    for (const BlockEntry& entry : blocks()) {
        if (entry.kind == BlockEntry::Kind::ffn || entry.name == "vision" || entry.name == "decoder" ||
            entry.name == "language_model")
            continue;
        const Tape tape;
        const Recorded program = entry.record(tape, 1);
        const auto& x = program.inputs[0];
        for (const By by : {By::rows, By::columns}) {
            const Array<double> j = jacobian(program.output, x, by);
            BOOST_TEST(largest(j, x.shape(), [](auto i, auto k) { return k > i; }) == 0, entry.name);
            BOOST_TEST(largest(j, x.shape(), [](auto i, auto k) { return k < i; }) > 1e-4, entry.name);
        }
    }
    const Tape tape;
    const Recorded vision = find_block("vision").record(tape, 1);
    BOOST_TEST(largest(jacobian(vision.output, vision.inputs[0]), vision.inputs[0].shape(),
                   [](auto i, auto k) { return k > i; }) > 1e-4);
}

BOOST_AUTO_TEST_CASE(a_window_ends_where_it_says) {
    const GroupedAttention attention({.d = 6, .heads = 2, .window = 2});
    Generator rng(0);
    initialize(attention, rng);
    Tape tape;
    Binding<double> on(tape);
    const auto x = tape.variable(rng.standard_normal({5, 6}));
    const Array<double> j = jacobian(attention(on, x), x);
    BOOST_TEST(largest(j, x.shape(), [](auto i, auto k) { return k + 2 <= i; }) == 0);
    BOOST_TEST(largest(j, x.shape(), [](auto i, auto k) { return k + 1 == i; }) > 1e-3);
}

BOOST_AUTO_TEST_CASE(heads_know_of_each_other_only_through_a_norm_over_all_of_them) {
    for (const bool keys : {false, true}) {
        GroupedAttentionOptions o{.d = 6, .heads = 3, .rope = RopeOptions()};
        BOOST_TEST(coupling(o, keys) == 0);
        for (const QkAxis axis : {QkAxis::per_head, QkAxis::per_head_gains, QkAxis::l2}) {
            o.qk_norm = {.axis = axis, .tau = 2};
            BOOST_TEST(coupling(o, keys) == 0);
        }
        o.qk_norm = {.axis = QkAxis::per_head, .after_rope = true};
        BOOST_TEST(coupling(o, keys) == 0);
        o.qk_norm = {.axis = QkAxis::whole_projection};
        BOOST_TEST(coupling(o, keys) > 1e-3);
    }
}

BOOST_AUTO_TEST_CASE(a_gain_for_each_head) {
    // With rows that are equal, the matrix of gains is the shared vector.
    GroupedAttentionOptions o{.d = 8, .heads = 2, .qk_norm = {.axis = QkAxis::per_head, .norm = layer_norm_options()}};
    const GroupedAttention shared(o);
    o.qk_norm.axis = QkAxis::per_head_gains;
    const GroupedAttention apart(o);
    BOOST_TEST((apart.q_norm.gamma.shape() == Shape{2, 4}));
    Generator rng(2);
    initialize_for_check(shared, rng);
    for (const auto& [of_one, of_many] :
        {std::pair(shared.wq, apart.wq), {shared.wk, apart.wk}, {shared.wv, apart.wv}, {shared.wo, apart.wo}})
        of_many.weight.assign(of_one.weight.value());
    for (const auto& [one, many] : {std::pair(shared.q_norm, apart.q_norm), {shared.k_norm, apart.k_norm}})
        for (const auto& [row, rows] : {std::pair(one.gamma, many.gamma), {one.beta, many.beta}}) {
            Array<double> both = Array<double>::from_shape({2, 4});
            for (std::size_t i = 0; i < 8; ++i) both.data()[i] = row.value().data()[i % 4];
            rows.assign(both);
        }
    Tape tape;
    Binding<double> on(tape);
    const auto x = tape.variable(rng.standard_normal({2, 3, 8}));
    check_array(apart(on, x).value(), shared(on, x).value(), 1e-14, 1e-15);
}

BOOST_AUTO_TEST_CASE(a_bias_of_the_keys_does_nothing_unless_positions_turn_it) {
    const auto gradient = [](bool turned) {
        GroupedAttentionOptions o{.d = 8, .heads = 2, .k_bias = true};
        if (turned) o.rope = RopeOptions();
        const GroupedAttention attention(o);
        Generator rng(4);
        initialize_for_check(attention, rng);
        Tape tape;
        Binding<double> on(tape);
        attention(on, tape.variable(rng.standard_normal({4, 8}))).backward(rng.standard_normal({4, 8}));
        return xt::amax(xt::abs(on(attention.wk.bias).grad()))();
    };
    BOOST_TEST(gradient(false) < 1e-15);
    BOOST_TEST(gradient(true) > 1e-3);
}

BOOST_AUTO_TEST_CASE(a_mask_given_is_the_mask_built_in) {
    const auto run = [](bool built_in) {
        const GroupedAttention attention({.d = 6, .heads = 2, .causal = built_in});
        Generator rng(6);
        initialize(attention, rng);
        Tape tape;
        Binding<double> on(tape);
        const auto x = tape.variable(rng.standard_normal({2, 4, 6}));
        return attention(on, x, built_in ? Var<double>() : tape.constant(causal_mask(4))).value();
    };
    check_array(run(true), run(false), 1e-15);
}

BOOST_AUTO_TEST_CASE(a_memory_of_other_length_and_width) {
    const GroupedAttention attention({.d = 6, .heads = 2, .value_dim = 5, .memory_d = 4, .causal = false});
    Generator rng(8);
    initialize(attention, rng);
    Tape tape;
    Binding<double> on(tape);
    const auto y =
        attention(on, tape.variable(rng.standard_normal({3, 6})), {}, tape.variable(rng.standard_normal({7, 4})));
    BOOST_TEST((y.shape() == Shape{3, 6}));
    BOOST_TEST((attention.wv.weight.shape() == Shape{4, 10}));
}

BOOST_AUTO_TEST_CASE(what_is_refused) {
    const auto refused = [](const GroupedAttentionOptions& o, const std::vector<std::string>& words) {
        check_refused([&] { GroupedAttention attention(o); }, "attention", words);
    };
    refused({.d = 8, .heads = 3}, {"8 features", "3 heads"});
    refused({.d = 8, .heads = 4, .kv_heads = 3}, {"4 query heads", "3 key heads"});
    refused({.d = 8, .heads = 2, .kv_heads = 4}, {"2 query heads", "4 key heads"});
    refused({.d = 0}, {"d is 0"});
    refused({.d = 8, .heads = 0}, {"0 heads"});
    refused({.d = 8, .heads = 2, .qk_norm = {.axis = QkAxis::whole_projection, .after_rope = true}}, {"after_rope"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_attention
