// Reading config.json: facts of every known model, class defaults, and one clear error for each thing that is wrong.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/nn/models/build.hpp>
#include <chalkgrad/nn/models/config.hpp>
#include <chalkgrad/nn/models/types.hpp>

#include "model_data.hpp"

namespace test_model_config {
BOOST_AUTO_TEST_SUITE(model_config)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

using Biases = std::vector<std::string_view>;

nn::ModelDescription read(const json& config) { return nn::read_model_config(config.dump()); }

bool warns(const nn::ModelDescription& m, const std::string& part) {
    for (const std::string& warning : m.warnings)
        if (warning.find(part) != std::string::npos) return true;
    return false;
}

void refuses(const std::string& text, const std::string& part) {
    BOOST_TEST_CONTEXT(text.substr(0, 200)) {
        BOOST_CHECK_EXCEPTION(nn::read_model_config(text), Error, [&](const Error& error) {
            const std::string what = error.what();
            BOOST_TEST(what.starts_with("config"), what);
            BOOST_TEST(what.find(part) != std::string::npos, what);
            return true;
        });
    }
}

/// The config of `name` with one field changed; null removes it.
void refuses(const char* name, const char* field, const json& value, const std::string& part) {
    json config = config_of(name);
    config[field] = value;
    if (value.is_null()) config.erase(field);
    refuses(config.dump(), part);
}

} // namespace

BOOST_AUTO_TEST_CASE(facts_of_every_known_model) {
    BOOST_TEST(known_models().size() == 79u);
    for (const json& model : known_models()) BOOST_TEST_CONTEXT(model["name"].get<std::string>()) {
            const nn::ModelDescription m = read(model["config"]);
            const json& facts = model["facts"];
            BOOST_TEST(name(m.placement) == facts["placement"].get<std::string>());
            BOOST_TEST(m.norm.kind == facts["norm"].get<std::string>());
            BOOST_TEST(m.norm.eps == facts["eps"].get<double>());
            BOOST_TEST(m.norm.gain == facts["gain"].get<std::string>());
            BOOST_TEST(m.norm.cast == facts["cast"].get<std::string>());
            BOOST_TEST(m.attention.qk_norm.axis == facts["qk_axis"].get<std::string>());
            BOOST_TEST(m.tied == (model["aliases"] > 0 && m.extra_layers == 0));
            const bool biased = model["components"].contains("attn_bias");
            BOOST_TEST(m.attention.biases.empty() == !biased);
        }
}

BOOST_AUTO_TEST_CASE(what_a_field_does_not_say) {
    const nn::ModelDescription qwen2 = read(config_of("qwen2-7b"));
    BOOST_TEST((qwen2.attention.biases == Biases{"q", "k", "v"}));
    BOOST_TEST(!qwen2.attention.window);
    BOOST_TEST(warns(qwen2, "inert"));

    const nn::ModelDescription falcon = read(config_of("falcon-7b"));
    BOOST_TEST(falcon.attention.kv_heads == 1);
    BOOST_TEST(falcon.parallel_norms == 1);
    BOOST_TEST(warns(falcon, "num_kv_heads says 71"));
    BOOST_TEST(read(config_of("falcon-40b")).attention.kv_heads == 8);
    BOOST_TEST(read(config_of("falcon-40b")).parallel_norms == 2);

    const nn::ModelDescription gemma3 = read(config_of("gemma-3-4b")); // leaves nearly everything to its class
    BOOST_TEST(gemma3.vocabulary == 262208);
    BOOST_TEST(gemma3.attention.heads == 8);
    BOOST_TEST(gemma3.attention.kv_heads == 4);
    BOOST_TEST(gemma3.attention.head_dim == 256);
    BOOST_TEST(gemma3.ffn.activation == "gelu_tanh");
    BOOST_TEST(gemma3.tied);
    BOOST_TEST(!gemma3.attention.softcap);
    BOOST_TEST(gemma3.attention.window.value() == 1024);
    BOOST_TEST(std::count_if(gemma3.stacks[0].layers.begin(), gemma3.stacks[0].layers.end(),
                   [](const auto& l) { return l.sliding; }) == 29);

    BOOST_TEST(read(config_of("gemma-2-9b-it")).attention.softcap.value() == 50);
    BOOST_TEST(read(config_of("gemma-2-9b-it")).final_softcap.value() == 30);
    BOOST_TEST(read(config_of("gemma-2b")).ffn.activation == "gelu_tanh");
    BOOST_TEST(warns(read(config_of("gemma-2b")), "tanh form"));
    BOOST_TEST(read(config_of("llama-2-7b")).attention.kv_heads == 32);
    BOOST_TEST(read(config_of("gpt2")).ffn.width == 3072);
    BOOST_TEST(read(config_of("gpt-neox-20b")).positions.rotary_dim == 24);
    BOOST_TEST(read(config_of("gpt-j-6b")).positions.rotary_dim == 64);
    BOOST_TEST(read(config_of("bert-base-uncased")).ffn.activation == "gelu_erf");
    BOOST_TEST(read(config_of("t5-base")).ffn.kind == "mlp");
    BOOST_TEST(read(config_of("t5-v1_1-small")).ffn.kind == "geglu");
    BOOST_TEST(read(config_of("t5-base")).attention.scale == 1);
    BOOST_TEST(warns(read(config_of("deepseek-v3")), "not counted"));
    BOOST_TEST(read(config_of("llama-4-maverick")).attention.qk_norm.axis == "none");
    BOOST_TEST(!read(config_of("llama-4-scout")).attention.qk_norm.learned);
}

BOOST_AUTO_TEST_CASE(gpt_oss_in_both_schemas) {
    for (const char* name : {"gpt-oss-20b", "gpt-oss-20b-original"}) BOOST_TEST_CONTEXT(name) {
            const nn::ModelDescription m = read(config_of(name));
            BOOST_TEST(m.model_type == "gpt_oss");
            BOOST_TEST(m.ffn.kind == "gpt_oss");
            BOOST_TEST(m.ffn.limit.value() == 7);
            BOOST_TEST(m.experts->packing == "interleaved");
            BOOST_TEST(m.experts->chosen == 4);
            BOOST_TEST(m.attention.sinks);
            BOOST_TEST((m.attention.biases == Biases{"q", "k", "v", "o"}));
            BOOST_TEST(m.stacks[0].layers[0].sliding);
            BOOST_TEST(!m.stacks[0].layers[1].sliding);
        }
    json both = config_of("gpt-oss-20b");
    both["experts_per_token"] = 8; // num_experts_per_tok says 4
    refuses(both.dump(), "mean the same");
}

BOOST_AUTO_TEST_CASE(fields_that_are_absent_or_null) {
    json llama = config_of("llama-3.1-8b");
    llama.erase("num_key_value_heads");
    BOOST_TEST(read(llama).attention.kv_heads == 32);
    llama["head_dim"] = nullptr;
    BOOST_TEST(read(llama).attention.head_dim == 128);
    llama.erase("rms_norm_eps");
    BOOST_TEST(read(llama).norm.eps == 1e-6);
    llama.erase("tie_word_embeddings");
    BOOST_TEST(!read(llama).tied);
    BOOST_TEST(warns(read(llama), "class default"));
    json gemma2 = config_of("gemma-2-2b");
    gemma2["attn_logit_softcapping"] = nullptr; // null switches off; absent would be 50
    BOOST_TEST(!read(gemma2).attention.softcap);
    gemma2.erase("attn_logit_softcapping");
    BOOST_TEST(read(gemma2).attention.softcap.value() == 50);
    json neox = config_of("pythia-1.4b");
    neox["use_parallel_residual"] = false;
    BOOST_TEST((read(neox).placement == nn::Placement::pre));
    json outer = config_of("gemma-3-27b");
    outer["tie_word_embeddings"] = false;
    BOOST_TEST(!read(outer).tied);
    json v3 = config_of("deepseek-v3");
    v3["q_lora_rank"] = nullptr;
    BOOST_TEST(read(v3).attention.latent->q_rank == 0);
    json glm = config_of("glm-4-9b-0414");
    glm.erase("rms_norm_eps");
    BOOST_TEST(read(glm).norm.eps == 1.5625e-7);
}

BOOST_AUTO_TEST_CASE(no_config_at_all) {
    refuses("", "no JSON");
    refuses("hello", "no JSON");
    refuses("{\"model_type\": ", "no JSON");
    refuses("[1, 2]", "array, not an object");
    refuses("\"llama\"", "string, not an object");
    refuses("{}", "model_type is missing");
    refuses(std::string(70, '['), "nested deeper");
    refuses("{\"a\": " + std::string(1'000'000, '[') + "}", "nested deeper");
    refuses("{\"a\": \"" + std::string(9'000'000, 'x') + "\"}", "larger than");
    refuses("{\"model_type\": \"\xff\xfe\"}", "no JSON");
    refuses(R"({"model_type": 3})", "model_type is 3; it must be a word");
    BOOST_TEST(read({{"model_type", "gpt2"}, {"vocab_size", 8}, {"n_embd", 4}, {"n_layer", 1}, {"n_head", 2},
                        {"x", "[[[{{{\\\""}})
                   .width == 4);
}

BOOST_AUTO_TEST_CASE(other_kinds_of_models) {
    refuses(R"({"model_type": "whisper", "d_model": 512})", "speech model");
    refuses(R"({"model_type": "detr"})", "detection model");
    refuses(R"({"_class_name": "UNet2DConditionModel", "sample_size": 64})",
        "UNet2DConditionModel is part of a diffusion model");
    refuses(R"({"model_type": "lama"})", "did you mean llama");
    refuses(R"({"model_type": "qwen4"})", "did you mean");
    refuses(R"({"model_type": "my_reward_model", "hidden_size": 8})", "a cousin's count would be a guess");
}

BOOST_AUTO_TEST_CASE(sizes_that_cannot_be) {
    const char* const llama = "llama-3.1-8b";
    refuses(llama, "hidden_size", nullptr, "hidden_size is missing");
    refuses(llama, "vocab_size", nullptr, "vocab_size is missing");
    refuses(llama, "intermediate_size", nullptr, "intermediate_size is missing");
    refuses("gpt2", "n_head", nullptr, "n_head (or num_attention_heads) is missing");
    refuses(llama, "hidden_size", "4096", "must be a whole number above 0");
    refuses(llama, "hidden_size", 4096.5, "must be a whole number above 0");
    refuses(llama, "hidden_size", -4096, "hidden_size is -4096");
    refuses(llama, "hidden_size", 0, "hidden_size is 0");
    refuses(llama, "hidden_size", json::array({4096}), "must be a whole number");
    refuses(llama, "hidden_size", 18446744073709551615u, "beyond 2^63");
    refuses(llama, "num_hidden_layers", 1'000'000'000, "absurd");
    refuses(llama, "rms_norm_eps", 0, "rms_norm_eps is 0");
    refuses(llama, "rms_norm_eps", "1e-5", "must be a number");
    refuses(llama, "tie_word_embeddings", "no", "must be true or false");
    refuses(llama, "attention_bias", 1, "must be true or false");
    refuses(llama, "hidden_act", "sillu", "the activation 'sillu' is not known");
    refuses(llama, "hidden_act", 4, "must be a word");
}

BOOST_AUTO_TEST_CASE(fields_that_contradict_each_other) {
    const char* const llama = "llama-3.1-8b";
    refuses(llama, "num_attention_heads", 31, "do not divide among 8 KV heads");
    refuses("gpt2", "n_head", 7, "n_embd (or hidden_size) 768 does not divide among 7 heads");
    refuses(llama, "num_key_value_heads", 64, "more than the 32 query heads");
    refuses("mixtral-8x7b", "num_experts_per_tok", 9, "9 experts are chosen of 8");
    refuses("deepseek-v3", "first_k_dense_replace", 62, "there are 61 layers");
    refuses("deepseek-v4-flash", "compress_ratios", json::array({0, 4}), "compress_ratios has 2 entries");
    refuses("deepseek-v4-flash", "num_attention_heads", 60, "o_groups");
    refuses("gpt-oss-20b", "num_hidden_layers", 23, "layer_types has 24 entries for 23 layers");
    refuses("gpt-oss-20b", "head_dim", "64", "head_dim");
    refuses("gpt-j-6b", "rotary_dim", 300, "a head has 256");
    refuses("gemma-3-4b", "vision_config", nullptr, "vision_config is missing");
    refuses("gemma-3-4b", "text_config", nullptr, "text_config is missing");
    refuses("gemma-3-4b", "text_config", 7, "must be an object");
    json wrong = config_of("gemma-3-4b");
    wrong["text_config"]["model_type"] = "llama";
    refuses(wrong.dump(), "it must be gemma3_text");
    wrong = config_of("gemma-3-4b");
    wrong["vision_config"]["model_type"] = "clip_vision_model";
    refuses(wrong.dump(), "siglip_vision_model");
    wrong = config_of("gemma-3-4b");
    wrong["tie_word_embeddings"] = true;
    wrong["text_config"]["tie_word_embeddings"] = false;
    refuses(wrong.dump(), "keep one");
}

BOOST_AUTO_TEST_CASE(the_table_of_types) {
    BOOST_TEST(nn::model_types().size() >= 32u);
    for (const nn::ModelType& type : nn::model_types()) BOOST_TEST_CONTEXT(type.name) {
            BOOST_TEST(nn::find_model_type(type.name).name == type.name);
            BOOST_TEST(!type.examples.empty());
            BOOST_TEST(nn::facts_line(type).starts_with(std::string(name(type.placement)) + "; "));
        }
}

BOOST_AUTO_TEST_CASE(text_that_is_not_one_sound_object) {
    refuses(" \n", "the file is empty");
    refuses("{\"a\": 1}\n x", "line 2, column 2");
    refuses("{\"a\": 1,\n \"b\": 1e400}", "1e400 at line 2, column 7");
    refuses("{\"a\": {\"b\": 1},\n  \"a\": 1}", "a is there twice, the second time at line 2, column 3");
    refuses("{\"a\": {\"b\": \"{\\\"\", \"b\": 2}}", "b is there twice");
}

// Bases and stretches by the configs, and the class's where they are silent.
BOOST_AUTO_TEST_CASE(angles_of_rotary_positions) {
    const RopeScaling llama = read(config_of("llama-3.1-8b")).positions.stretch;
    BOOST_TEST((llama.kind == RopeScaling::Kind::llama3));
    BOOST_TEST(
        (llama.factor == 8 && llama.context == 8192 && llama.slow == 1 && llama.fast == 4 && llama.magnitude == 1));
    BOOST_TEST(read(config_of("llama-3-8b")).positions.base == 500000);
    BOOST_TEST((read(config_of("llama-3-8b")).positions.stretch.kind == RopeScaling::Kind::none));

    for (const char* name : {"gpt-oss-20b", "gpt-oss-20b-original"}) BOOST_TEST_CONTEXT(name) {
            const nn::PositionFacts p = read(config_of(name)).positions;
            BOOST_TEST(p.base == 150000);
            BOOST_TEST((p.stretch.kind == RopeScaling::Kind::yarn && !p.stretch.whole_pairs));
            BOOST_TEST(
                (p.stretch.factor == 32 && p.stretch.context == 4096 && p.stretch.slow == 1 && p.stretch.fast == 32));
            BOOST_TEST(std::abs(p.stretch.magnitude - 1.3465735902799727) < 1e-15);
        }
    // DeepSeek-V3 moves the magnitude into the scale of the scores: (0.1 ln 40 + 1)² / √192.
    const nn::ModelDescription v3 = read(config_of("deepseek-v3"));
    BOOST_TEST((v3.positions.stretch.magnitude == 1 && v3.positions.stretch.whole_pairs));
    BOOST_TEST(std::abs(v3.attention.scale - 0.1352337788608801) < 1e-15);

    // Gemma 3: layers that slide have a base of their own and no stretch.
    const nn::ModelDescription gemma = read(config_of("gemma-3-4b"));
    const auto rope_of = [&](bool sliding) {
        return *nn::block_options(gemma, gemma.stacks[0], {.sliding = sliding}).attention.rope;
    };
    BOOST_TEST((rope_of(true).base == 10000 && rope_of(true).stretch.kind == RopeScaling::Kind::none));
    BOOST_TEST((rope_of(false).base == 1000000 && rope_of(false).stretch.kind == RopeScaling::Kind::linear));
    BOOST_TEST(rope_of(false).stretch.factor == 8);

    json config = config_of("llama-3-8b");
    config["rope_scaling"] = {{"type", "longrope"}, {"factor", 4}};
    const nn::ModelDescription unknown = read(config);
    BOOST_TEST((unknown.positions.stretch.kind == RopeScaling::Kind::none));
    BOOST_TEST(warns(unknown, "'longrope'"));
    refuses("llama-3-8b", "rope_scaling", {{"type", "yarn"}, {"factor", 4}, {"beta_fast", 1}}, "must be larger");
    refuses("llama-3-8b", "rope_scaling", {{"type", "linear"}, {"factor", -4}}, "factor");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_model_config
