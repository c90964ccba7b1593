// The ledger of every known model, to the last parameter; active ones, formulas, and counts that overflow.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/text.hpp>
#include <chalkgrad/nn/models/config.hpp>
#include <chalkgrad/nn/models/ledger.hpp>

#include "model_data.hpp"

namespace test_model_ledger {
BOOST_AUTO_TEST_SUITE(model_ledger)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

nn::ModelLedger ledger(const json& config) { return nn::model_ledger(nn::read_model_config(config.dump())); }

} // namespace

BOOST_AUTO_TEST_CASE(counts_of_every_known_model) {
    for (const json& model : known_models()) BOOST_TEST_CONTEXT(model["name"].get<std::string>()) {
            const nn::ModelLedger counted = ledger(model["config"]);
            BOOST_TEST(counted.distinct == model["distinct"].get<std::int64_t>());
            BOOST_TEST(counted.stored_aliases == model["aliases"].get<std::int64_t>());
            BOOST_TEST(counted.buffers == model["buffers"].get<std::int64_t>());
            json components = json::object(), blocks = json::array();
            for (const auto& [name, count] : counted.components) components[name] = count;
            for (const nn::BlockCount& block : counted.blocks)
                blocks.push_back({block.count, block.parameters, block.first});
            BOOST_TEST(components == model["components"], components << " but " << model["components"]);
            BOOST_TEST(blocks == model["blocks"], blocks << " but " << model["blocks"]);
        }
}

BOOST_AUTO_TEST_CASE(the_course_s_formula) { // §10
    const nn::ModelLedger llama = ledger(config_of("llama-3.1-8b"));
    BOOST_TEST(llama.distinct == 8'030'261'248);
    BOOST_TEST(llama.blocks.at(0).parameters == 218'112'000);
    BOOST_TEST(llama.blocks.at(0).formula == "2dHh + 2dKh + 3df + 2d");
    BOOST_TEST(llama.blocks.at(0).in_width == "13d² + 2d");
    BOOST_TEST(llama.formula == "2Vd + 32(2dHh + 2dKh + 3df + 2d) + d = 2Vd + 32(13d² + 2d) + d = 8,030,261,248");
    BOOST_TEST(ledger(config_of("gpt2")).blocks.at(0).in_width == "12d² + 13d");
    BOOST_TEST(ledger(config_of("gpt2-xl")).formula.ends_with("Vd + 48(12d² + 13d) + Pd + 2d = 1,557,611,200"));
}

BOOST_AUTO_TEST_CASE(a_model_known_from_its_paper) { // ViT-22B: 12 d² in each of 48 layers
    std::int64_t matrices = 0;
    for (const auto& [name, count] : ledger({{"model_type", "vit-22b"}}).components)
        if (name == "attn" || name == "ffn") matrices += count;
    BOOST_TEST(matrices == 21'743'271'936);
}

BOOST_AUTO_TEST_CASE(parameters_that_one_token_uses) {
    const auto active = [](const char* name) { return ledger(config_of(name)).active_per_token; };
    BOOST_TEST(active("llama-3.1-8b") == 8'030'261'248);
    BOOST_TEST(active("mixtral-8x7b") == 12'879'925'248); // 46.7B less 6 of 8 experts: the 12.9B of its paper
    BOOST_TEST(active("qwen3-30b-a3b") == 30'532'122'624 - 28'991'029'248 / 128 * 120);
    BOOST_TEST(active("deepseek-v3") == 671'026'404'352 - 653'908'770'816 / 256 * 248);
    BOOST_TEST(active("gpt-oss-20b") == 20'914'757'184 - (19'110'297'600 + 6'635'520) / 32 * 28);
    BOOST_TEST(active("llama-4-scout") == 108'641'793'536 - 96'636'764'160 / 16 * 15);
}

BOOST_AUTO_TEST_CASE(counts_beyond_64_bits_are_refused) {
    const auto refused = [](const char* name, const char* field, std::int64_t value) {
        json config = config_of(name);
        config[field] = value;
        BOOST_CHECK_EXCEPTION(ledger(config), Error,
            [](const Error& error) { return std::string(error.what()).find("2^63") != std::string::npos; });
    };
    refused("llama-3.1-8b", "vocab_size", INT64_MAX);
    refused("llama-3.1-8b", "intermediate_size", INT64_MAX / 2);
    refused("mixtral-8x7b", "num_local_experts", std::int64_t(1) << 50);
    refused("gpt2", "n_positions", INT64_MAX / 100);
    json wide = config_of("llama-3.1-8b");
    wide["hidden_size"] = std::int64_t(1) << 30;
    wide["intermediate_size"] = std::int64_t(1) << 31;
    wide["num_hidden_layers"] = 90'000; // each block fits, all of them do not
    BOOST_CHECK_THROW(ledger(wide), Error);
}

BOOST_AUTO_TEST_CASE(components_add_up_and_active_is_no_more) {
    for (const json& model : known_models()) BOOST_TEST_CONTEXT(model["name"].get<std::string>()) {
            const nn::ModelLedger counted = ledger(model["config"]);
            std::int64_t sum = 0;
            for (const auto& [name, count] : counted.components) sum += count;
            BOOST_TEST(sum == counted.distinct);
            BOOST_TEST(counted.active_per_token <= counted.distinct);
            BOOST_TEST(counted.formula.ends_with(with_commas(counted.distinct)), counted.formula);
        }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_model_ledger
