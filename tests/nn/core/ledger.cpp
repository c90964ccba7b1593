// Ledgers of modules against the counts that models are published with.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <sstream>

#include <chalkgrad/nn/core/ledger.hpp>
#include <chalkgrad/nn/layers/stack.hpp>

#include "../../ops/arrays.hpp"

namespace test_ledger {
BOOST_AUTO_TEST_SUITE(ledger)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;

namespace {

LanguageModel llama_8b() {
    const BlockOptions block{
        .d = 4096, .attention = {.heads = 32, .kv_heads = 8, .rope = RopeOptions()}, .ffn = {.width = 14336}};
    return LanguageModel({.vocabulary = 128256, .blocks = std::vector<BlockOptions>(32, block)});
}

} // namespace

BOOST_AUTO_TEST_CASE(llama_3_1_8b) { // course §10
    const Ledger ledger = ledger_of(llama_8b());
    BOOST_TEST(ledger.distinct == 8030261248u);
    BOOST_TEST(ledger.aliases == 0u);
    BOOST_TEST(ledger.buffers == 0u);
    BOOST_TEST_REQUIRE(ledger.blocks.size() == 1u);
    BOOST_TEST(ledger.blocks[0].parameters == 218112000u);
    BOOST_TEST(ledger.blocks[0].parameters == 13u * 4096 * 4096 + 2 * 4096);
    BOOST_TEST(ledger.blocks[0].count == 32u);
    BOOST_TEST(ledger.blocks[0].first == "layers.0");
    BOOST_TEST(ledger.component("embed") == 525336576u);
    BOOST_TEST(ledger.component("block_norm") == 262144u);
    BOOST_TEST(ledger.component("attn") == 1342177280u);
    BOOST_TEST(ledger.component("ffn") == 5637144576u);
    BOOST_TEST(ledger.component("final_norm") == 4096u);
    BOOST_TEST(ledger.component("lm_head") == 525336576u);
    BOOST_TEST(ledger.component("router") == 0u);
}

BOOST_AUTO_TEST_CASE(the_whole_of_it_as_shapes) {
    const LanguageModel model = llama_8b();
    Tape tape(Tape::Mode::shapes_only);
    Binding<double> on(tape);
    const auto start = std::chrono::steady_clock::now();
    const auto y = model(on, Array<std::int64_t>(std::vector<std::size_t>{1, 16}, 0));
    BOOST_TEST((std::chrono::steady_clock::now() - start < std::chrono::seconds(1)));
    BOOST_TEST((y.shape() == Shape{1, 16, 128256}));
    std::uint64_t count = 0;
    for (const auto& bound : on.bound()) count += bound.line.size();
    BOOST_TEST(count == 8030261248u);
}

BOOST_AUTO_TEST_CASE(gpt2_has_a_tied_head_and_biases) {
    const BlockOptions block{.d = 768,
        .norm = layer_norm_options(),
        .attention = {.heads = 12, .q_bias = true, .k_bias = true, .v_bias = true, .o_bias = true},
        .ffn = {.width = 3072, .activation = Activation::gelu_tanh, .gated = false, .bias = true}};
    const LanguageModel model({.vocabulary = 50257,
        .blocks = std::vector<BlockOptions>(12, block),
        .positions = 1024,
        .final_norm = layer_norm_options(),
        .tied = true});
    const Ledger ledger = ledger_of(model);
    BOOST_TEST(ledger.distinct == 124439808u);
    BOOST_TEST(ledger.aliases == 50257u * 768);
    BOOST_TEST(ledger.entries.back().alias_of == "embedding");
    BOOST_TEST(ledger.component("embed") == 50257u * 768);
    BOOST_TEST(ledger.component("pos_embed") == 1024u * 768);
    BOOST_TEST(ledger.blocks[0].parameters == 7087872u);
    BOOST_TEST(ledger.component("attn_bias") == 12u * 4 * 768);
    BOOST_TEST(ledger.component("ffn_bias") == 12u * 5 * 768);
    std::ostringstream text;
    text << ledger;
    for (const char* words :
        {"124,439,808", "38,597,376  not counted again", "7,087,872  in each of 12 blocks, from layers.0 on"})
        BOOST_TEST(text.str().find(words) != std::string::npos, text.str());
}

BOOST_AUTO_TEST_CASE(gpt_oss_20b_has_experts_sinks_and_biases_everywhere) {
    const BlockOptions block{.d = 2880,
        .attention = {.heads = 64,
            .kv_heads = 8,
            .head_dim = 64,
            .q_bias = true,
            .k_bias = true,
            .v_bias = true,
            .o_bias = true,
            .sinks = true},
        .experts =
            MoeOptions{.expert = gpt_oss_ffn_options(2880, 2880), .experts = 32, .per_token = 4, .router_bias = true}};
    const Ledger ledger =
        ledger_of(LanguageModel({.vocabulary = 201088, .blocks = std::vector<BlockOptions>(24, block)}));
    BOOST_TEST(ledger.distinct == 20914757184u);
    BOOST_TEST(ledger.blocks[0].parameters == 823186976u);
    for (const auto& [name, count] :
        {std::pair("sinks", 1536u), {"router", 2211840u}, {"router_bias", 768u}, {"experts_bias", 6635520u}})
        BOOST_TEST(ledger.component(name) == count, name);
    BOOST_TEST(ledger.component("experts") == 19110297600u);
}

BOOST_AUTO_TEST_CASE(buffers_are_counted_apart_and_blocks_by_size) {
    BlockOptions dense{.d = 8, .attention = {.heads = 2}, .ffn = {.width = 12}};
    BlockOptions sparse = dense;
    sparse.experts = MoeOptions{.expert = {.width = 4}, .experts = 3, .scoring = Scoring::sigmoid, .correction = true};
    const Ledger ledger = ledger_of(Stack({dense, sparse, sparse, dense, sparse}));
    BOOST_TEST(ledger.buffers == 9u);
    BOOST_TEST_REQUIRE(ledger.blocks.size() == 2u);
    BOOST_TEST(ledger.blocks[0].count == 2u);
    BOOST_TEST(ledger.blocks[1].count == 3u);
    BOOST_TEST(ledger.blocks[1].first == "layers.1");
    BOOST_TEST(ledger.blocks[1].parameters == 4u * 64 + 16 + 24 + 3 * 3 * 32);
    BOOST_TEST(2 * ledger.blocks[0].parameters + 3 * ledger.blocks[1].parameters == ledger.distinct);
}

BOOST_AUTO_TEST_CASE(counts_beyond_64_bits_are_refused) {
    const std::size_t huge = std::size_t{1} << 62;
    std::vector<NamedParameter> list;
    for (const char* name : {"a", "b", "c"}) list.push_back({name, Parameter(name, {huge}, "ffn", constant(0))});
    BOOST_TEST(ledger_of(list).distinct == 3u * huge);
    for (const char* name : {"d", "e"}) list.push_back({name, Parameter(name, {huge}, "ffn", constant(0))});
    check_refused([&] { ledger_of(list); }, "ledger", {"64 bits"});
    BOOST_TEST(add_counts(3 * huge, huge - 1) == ~std::uint64_t{0});
    check_refused([&] { add_counts(3 * huge, huge); }, "ledger", {"64 bits"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_ledger
