// No field of a config.json is dropped: each is used, warned of or refused, unless it changes no block.
#include <boost/test/unit_test.hpp>

#include <set>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/nn/models/build.hpp>
#include <chalkgrad/nn/models/config.hpp>
#include <chalkgrad/nn/models/ledger.hpp>

#include "model_data.hpp"

namespace test_config_fields {
BOOST_AUTO_TEST_SUITE(config_fields)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

nn::ModelDescription read(const json& config) { return nn::read_model_config(config.dump()); }

std::ptrdiff_t warnings_with(const json& config, const std::string& part) {
    const std::vector<std::string> warnings = read(config).warnings;
    return std::count_if(warnings.begin(), warnings.end(),
        [&](const std::string& warning) { return warning.find(part) != std::string::npos; });
}

/// The config of `name` with some fields changed; null removes one.
json with(const char* name, const json& changes) {
    json config = config_of(name);
    config.merge_patch(changes);
    return config;
}

void refuses(const json& config, const std::string& part) {
    BOOST_CHECK_EXCEPTION(read(config), Error, [&](const Error& error) {
        const std::string what = error.what();
        BOOST_TEST(what.find(part) != std::string::npos, what);
        return true;
    });
}

/// Another value of the same type.
json changed(const json& value) {
    if (value.is_boolean()) return !value.get<bool>();
    if (value.is_string()) return "other";
    if (value.is_number_integer()) return value.get<std::int64_t>() + 1;
    if (value.is_number()) return 2 * value.get<double>() + 1;
    json longer = value; // a list
    longer.push_back(value.empty() ? json(1) : value.back());
    return longer;
}

/// Whether a changed config is read as before: the same facts, the same warnings.
bool reads_alike(const nn::ModelDescription& before, const json& config) {
    try {
        return read(config) == before;
    } catch (const Error&) { return false; }
}

/// Calls `action` with each field of a config and of the sections that say something of a block.
void each_field(const json& object, const json::json_pointer& where, const auto& action) {
    static const std::set<std::string> sections = {"text_config", "vision_config", "rope_scaling"};
    for (const auto& [name, value] : object.items()) {
        if (value.is_object() && sections.count(name) > 0) each_field(value, where / name, action);
        else action(name, where / name, value);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_change_of_each_field_tells) {
    // Training, generation, tokens, files; below, what is inert in some model at least, and is named there.
    const std::set<std::string> expected = {"_name_or_path", "architectures", "attention_dropout",
        "attention_probs_dropout_prob", "attn_pdrop", "auto_map", "boi_token_index", "bos_token_id",
        "cache_implementation", "embd_pdrop", "eoi_token_index", "eos_token_id", "ep_size", "expert_dtype",
        "gradient_checkpointing", "hc_eps", "hidden_dropout", "hidden_dropout_prob", "image_token_index",
        "initializer_range", "is_llama_config", "max_position_embeddings", "n_ctx", "n_positions",
        "original_max_position_embeddings", "output_router_logits", "pad_token_id", "pretraining_tp",
        "quantization_config", "reorder_and_upcast_attn", "resid_pdrop", "rotary", "router_aux_loss_coef", "topk_group",
        "torch_dtype", "transformers_version", "use_cache", //
        "initial_context_length", "intermediate_size", "intermediate_size_mlp", "max_window_layers", "multi_query",
        "no_rope_layer_interval", "num_key_value_heads", "parallel_attn"};
    std::set<std::string> silent;
    for (const json& known : known_models()) {
        const json config = known["config"];
        const nn::ModelDescription before = read(config);
        each_field(config, json::json_pointer(),
            [&](const std::string& name, const json::json_pointer& at, const json& value) {
                if (value.is_null()) return;
                json other = config;
                other[at] = value.is_object() ? json(1) : changed(value);
                if (reads_alike(before, other)) silent.insert(name);
            });
    }
    for (const std::string& name : silent) BOOST_TEST(expected.count(name) == 1u, name << " is dropped");
    for (const std::string& name : expected) BOOST_TEST(silent.count(name) == 1u, name << " tells");
}

BOOST_AUTO_TEST_CASE(a_field_of_no_class_is_named) {
    for (const json& known : known_models()) BOOST_TEST_CONTEXT(known["name"].get<std::string>()) {
            const json config = known["config"];
            std::set<json::json_pointer> objects{json::json_pointer()};
            each_field(
                config, json::json_pointer(), [&](const std::string&, const json::json_pointer& at, const json&) {
                    objects.insert(at.parent_pointer());
                });
            for (const json::json_pointer& object : objects) {
                json other = config;
                other[object / "depth_of_field"] = 3;
                BOOST_TEST(warnings_with(other, "depth_of_field is 3; it is not read for this type") == 1, object);
                other[object / "depth_of_field"] = false; // a feature that is off
                BOOST_TEST(warnings_with(other, "depth_of_field") == 0, object);
            }
        }
}

// Fields of the classes that a few configs only have.
BOOST_AUTO_TEST_CASE(fields_that_change_a_model_are_named) {
    const auto warned = [](const char* name, const json& changes, const char* words) {
        BOOST_TEST(warnings_with(with(name, changes), words) == 1, name << " " << changes);
    };
    const char* const llama = "llama-3.1-8b";
    warned("gpt2", {{"scale_attn_by_inverse_layer_idx", true}}, "scale_attn_by_inverse_layer_idx is true");
    warned("gpt2", {{"scale_attn_weights", false}}, "the scores: they are not divided");
    warned(llama, {{"attn_logit_softcapping", 30.0}}, "attn_logit_softcapping is 30.0");
    warned(llama, {{"clip_qkv", 8.0}}, "clip_qkv is 8.0");
    warned(llama, {{"pruned_heads", {{"3", {1, 2}}}}}, "attention and its count");
    warned(llama, {{"layer_types", json(std::vector<std::string>(32, "linear_attention"))}}, "'linear_attention'");
    warned("mistral-7b-v0.3", {{"layer_types", json(std::vector<std::string>(32, "sliding_attention"))}}, "no window");
    warned("mistral-7b-v0.3", {{"attention_bias", true}}, "attention_bias is true");
    warned("gpt-neox-20b", {{"num_key_value_heads", 8}}, "num_key_value_heads is 8");
    warned("gpt2", {{"rope_theta", 10000}}, "rope_theta is 10000");
    warned("t5-small", {{"tie_encoder_decoder", true}}, "the count");
    warned("t5-small", {{"is_encoder_decoder", false}}, "an encoder and a decoder are counted");
    warned("gemma-2-2b", {{"hidden_act", "silu"}, {"hidden_activation", "silu"}}, "but this type runs gelu_tanh");
    warned("deepseek-v4-flash", json::object(), "compress_rope_theta is 160000");
    warned("gemma-3-4b", {{"vision_config", {{"hidden_act", "relu"}, {"attention_bias", true}}}},
        "vision_config.attention_bias is true");
    refuses(with("gemma-2-2b", {{"sliding_window_size", 128}}), "mean the same");
    refuses(with("deepseek-v4-flash", {{"hc_mult", 1}}), "hc_mult is 1");
    BOOST_TEST(!read(with("deepseek-v3", {{"rope_interleave", false}})).positions.interleaved);
    BOOST_TEST(read(with("deepseek-v4-flash", {{"index_topk", 64}})).attention.latent->index_keys == 64);
    BOOST_TEST(read(with("deepseek-v4-flash", {{"hc_sinkhorn_iters", 5}})).mixing_rounds == 5);
    json whole = config_of("gpt-j-6b");
    whole["rotary_dim"] = nullptr; // all of a head
    BOOST_TEST(read(whole).positions.rotary_dim == 256);
}

// N12: the same facts in the newer spelling, for all layers or for each kind.
BOOST_AUTO_TEST_CASE(rope_parameters) {
    json config = config_of("llama-3.1-8b");
    json rope = config["rope_scaling"];
    rope["rope_theta"] = config["rope_theta"];
    config.erase("rope_scaling");
    config.erase("rope_theta");
    config["rope_parameters"] = rope;
    const nn::PositionFacts p = read(config).positions;
    BOOST_TEST(p.base == 500000);
    BOOST_TEST((p.stretch.kind == RopeScaling::Kind::llama3 && p.stretch.factor == 8 && p.stretch.context == 8192));
    config["rope_theta"] = 10000;
    refuses(config, "keep one");

    json gemma = config_of("gemma-3-4b")["text_config"];
    gemma["model_type"] = "gemma3_text";
    for (const char* old : {"rope_scaling", "rope_theta", "rope_local_base_freq"}) gemma.erase(old);
    gemma["rope_parameters"] = {{"full_attention", {{"factor", 8.0}, {"rope_theta", 2e6}, {"rope_type", "linear"}}},
        {"sliding_attention", {{"rope_theta", 20000.0}, {"rope_type", "default"}}}};
    const nn::PositionFacts g = read(gemma).positions;
    BOOST_TEST((g.base == 2e6 && g.sliding_base == 20000));
    BOOST_TEST((g.stretch.kind == RopeScaling::Kind::linear && g.stretch.factor == 8));
    BOOST_TEST((g.sliding_stretch.kind == RopeScaling::Kind::none));
    json old = config_of("deepseek-v3"); // the base a second time, in the older object
    old["rope_scaling"]["rope_theta"] = 20000;
    refuses(old, "rope_theta in rope_scaling is 20000");
    gemma["rope_parameters"]["chunked_attention"] = json::object();
    refuses(gemma, "'chunked_attention'");
}

// N13
BOOST_AUTO_TEST_CASE(attention_that_looks_both_ways) {
    json gemma = config_of("gemma-3-4b")["text_config"];
    gemma["model_type"] = "gemma3_text";
    gemma["use_bidirectional_attention"] = true;
    const nn::ModelDescription m = read(gemma);
    BOOST_TEST(!m.stacks[0].causal);
    BOOST_TEST(warnings_with(gemma, "both ways") == 1);
    for (const nn::LayerFacts& layer : m.stacks[0].layers) {
        const auto o = nn::block_options(m, m.stacks[0], layer).attention;
        BOOST_TEST((!o.causal && !o.window));
    }
    json bert = config_of("bert-base-uncased");
    bert["is_decoder"] = true;
    BOOST_TEST(read(bert).stacks[0].causal);
}

// N15
BOOST_AUTO_TEST_CASE(cross_attention_is_counted_or_refused) {
    const json cross = {{"add_cross_attention", true}};
    BOOST_TEST(nn::model_ledger(read(with("gpt2", cross))).distinct == 152'806'656);
    refuses(with("llama-3.1-8b", cross), "cross-attention is known of gpt2 and bert");
    refuses(with("bert-base-uncased", cross), "is_decoder");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_config_fields
