// Stacks and language models: what stands between token ids and scores, in which order.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/nn/layers/stack.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/softcap.hpp>
#include <chalkgrad/ops/linear/embedding.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>

#include "../../ops/arrays.hpp"

namespace test_stack {
BOOST_AUTO_TEST_SUITE(stack)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;

namespace {

constexpr std::size_t d = 6;

BlockOptions usual(Placement placement = Placement::pre) {
    return {.d = d, .placement = placement, .attention = {.heads = 2}, .ffn = {.width = 8}, .streams = {.n = 3}};
}

} // namespace

BOOST_AUTO_TEST_CASE(layers_follow_each_other_and_a_norm_ends_them) {
    const Stack stack(3, usual(), NormOptions());
    Generator rng(1);
    initialize_for_check(stack, rng);
    Tape tape;
    Binding<double> on(tape);
    const auto x = tape.variable(rng.standard_normal({2, 4, d}));
    auto h = x;
    for (const Block& block : stack.blocks) h = block(on, h);
    check_array(stack.body(on, x).value(), h.value());
    check_array(stack(on, x).value(), rms_norm(h, on(stack.final.gamma)).value());
    const auto wq_of = [&](std::size_t i) { return std::get<GroupedAttention>(stack.blocks[i].attention).wq.weight; };
    BOOST_TEST((wq_of(0) != wq_of(1)));
    // Blocks that share their weights (a copy is the same parameters) are one set of lines.
    Stack shared(2, usual());
    shared.blocks[1] = shared.blocks[0];
    Tape shapes(Tape::Mode::shapes_only);
    Binding<double> bound(shapes);
    shared(bound, shapes.leaf<double>({4, d}, nullptr, true));
    BOOST_TEST(bound.bound().size() == parameters_of(shared.blocks[0]).size());
}

BOOST_AUTO_TEST_CASE(from_ids_to_scores) {
    for (const bool tied : {true, false}) {
        const LanguageModel model({.vocabulary = 5,
            .blocks = {2, usual()},
            .positions = 7,
            .embed_norm = layer_norm_options(),
            .final_norm = {.eps = 1e-5},
            .tied = tied,
            .head_bias = true,
            .embed_scale = 2.5,
            .logit_scale = 0.5,
            .logit_softcap = 3});
        Generator rng(2);
        initialize_for_check(model, rng);
        Tape tape;
        Binding<double> on(tape);
        const Array<std::int64_t> ids = {{4, 0, 4}, {1, 2, 3}}, places = {0, 1, 2};
        auto h = 2.5 * embedding(on(model.embedding.table), ids) + embedding(on(model.positions.table), places);
        h = layer_norm(h, on(model.embed_norm.gamma), on(model.embed_norm.beta), 1e-5);
        for (const Block& block : model.stack.blocks) h = block(on, h);
        h = rms_norm(h, on(model.stack.final.gamma), 1e-5);
        const auto scores = tied ? matmul(h, transpose(on(model.embedding.table))) + on(model.tied_bias)
                                 : matmul(h, on(model.head.weight)) + on(model.head.bias);
        check_array(model(on, ids).value(), softcap(0.5 * scores, 3).value(), 1e-14);
    }
}

BOOST_AUTO_TEST_CASE(streams_enter_as_copies_and_leave_as_their_sum) {
    const LanguageModel model({.vocabulary = 5, .blocks = {2, usual(Placement::mhc)}});
    Generator rng(3);
    initialize_for_check(model, rng);
    Tape tape;
    Binding<double> on(tape);
    const Array<std::int64_t> ids = {4, 0, 2};
    const auto x = embedding(on(model.embedding.table), ids);
    auto h = chalkgrad::stack({x, x, x});
    for (const Block& block : model.stack.blocks) h = block(on, h);
    const auto scores = matmul(rms_norm(sum(h, 0), on(model.stack.final.gamma)), on(model.head.weight));
    check_array(model(on, ids).value(), scores.value(), 1e-14);
}

BOOST_AUTO_TEST_CASE(what_is_refused) {
    check_refused([] { LanguageModel({.vocabulary = 0, .blocks = {usual()}}); }, "embedding", {"0 rows"});
    check_refused([] { LanguageModel({.vocabulary = 5, .blocks = {}}); }, "stack", {"no block"});
    const LanguageModel model({.vocabulary = 5, .blocks = {usual()}, .positions = 2});
    Tape tape(Tape::Mode::shapes_only);
    Binding<double> on(tape);
    check_refused([&] { model(on, Array<std::int64_t>{0, 5}); }, "embedding", {"5"});
    check_refused([&] { model(on, Array<std::int64_t>{0, 1, 2}); }, "language_model", {"3 tokens", "2 positions"});
    check_refused(
        [&] { model(on, Array<std::int64_t>(std::vector<std::size_t>{}, 0)); }, "language_model", {"single number"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_stack
