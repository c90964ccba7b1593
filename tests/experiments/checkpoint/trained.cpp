// A trained checkpoint against its reference: ids of texts, the story it writes, what is measured, changed blocks.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/experiments/checkpoint/changes.hpp>
#include <chalkgrad/experiments/checkpoint/decoder.hpp>
#include <chalkgrad/experiments/checkpoint/measure.hpp>
#include <chalkgrad/experiments/checkpoint/tokens.hpp>

namespace test_trained {
BOOST_AUTO_TEST_SUITE(trained)

using namespace chalkgrad;
using nlohmann::json;

namespace {

const std::filesystem::path folder = CHALKGRAD_SOURCE_DIR "/tests/data/checkpoints";
const std::filesystem::path stories = folder / "stories260K";

const json& reference() {
    static const json file = json::parse(read_file(stories / "reference.json"));
    return file;
}

Array<std::int64_t> ids_in(const json& list, std::size_t most = 1000) {
    Array<std::int64_t> ids(std::vector<std::size_t>{std::min(list.size(), most)});
    for (std::size_t i = 0; i < ids.size(); ++i) ids(i) = list[i];
    return ids;
}

Array<std::int64_t> text2() { return ids_in(reference()["encode"]["ids"]); }

void near(double value, const json& expected, double tolerance = 1e-9) {
    BOOST_TEST(std::abs(value - expected.get<double>()) < tolerance, value << " is not " << expected);
}

} // namespace

BOOST_AUTO_TEST_CASE(texts_and_ids) {
    const TokenTable table = read_tokens(stories, 512).value();
    const std::string text = reference()["encode"]["text"];
    const std::vector<std::int64_t> ids = table.encode(text);
    BOOST_TEST(ids == reference()["encode"]["ids"].get<std::vector<std::int64_t>>());
    BOOST_TEST(table.decode(ids) == text);
    BOOST_TEST(table.encode("") == std::vector<std::int64_t>{1});
    for (const std::string odd : {"\xF0\x9F\x90\xB8 says caf\xC3\xA9", "\xFF\xC3", " two  spaces"})
        BOOST_TEST(table.decode(table.encode(odd)) == odd);
    BOOST_TEST(!read_tokens(folder / "qwen3", 64));
    BOOST_CHECK_THROW(read_tokens(stories, 511), Error);
    TokenTable poor = table;
    poor.ids.erase("<0xF0>");
    BOOST_CHECK_THROW(poor.encode("\xF0\x9F\x90\xB8"), Error);
}

BOOST_AUTO_TEST_CASE(the_published_story) {
    const nn::Checkpoint model = nn::load_checkpoint(stories);
    Decoder<float> decoder(model);
    std::vector<std::int64_t> ids{1};
    while (ids.size() < 301) {
        const Var<float> scores = decoder.step(ids.back());
        ids.push_back(std::max_element(scores.data(), scores.data() + scores.size()) - scores.data());
    }
    BOOST_TEST(ids == reference()["greedy_from_bos"].get<std::vector<std::int64_t>>());
    BOOST_TEST(read_tokens(stories, 512)
                   ->decode(ids)
                   .starts_with(
                       "Once upon a time, there was a little girl named Lily. She loved to play outside in the park."));
}

BOOST_AUTO_TEST_CASE(kept_keys_change_nothing) {
    for (const char* const name : {"gemma2", "gpt2", "gpt_oss", "qwen3", "stories260K"}) BOOST_TEST_CONTEXT(name) {
            nn::Checkpoint model = nn::load_checkpoint(folder / name);
            const json file = json::parse(read_file(folder / name / "reference.json"));
            const Array<std::int64_t> ids = ids_in(file.contains("ids") ? file["ids"] : file["encode"]["ids"]);
            if (model.blocks()[0].options.placement == nn::Placement::pre) set(model, "attention.window=5");
            const Array<double> all = model.logits<double>(ids);
            Decoder<double> decoder(model);
            for (std::size_t t = 0; t < ids.size(); ++t) {
                const Var<double> one = decoder.step(ids(t));
                for (std::size_t j = 0; j < one.size(); ++j) BOOST_REQUIRE_SMALL(one.data()[j] - all(t, j), 1e-9);
            }
        }
}

BOOST_AUTO_TEST_CASE(measures) {
    const nn::Checkpoint model = nn::load_checkpoint(stories);
    const Measures story = measure<double>(model, ids_in(reference()["greedy_from_bos"], 256));
    near(story.loss.value(), reference()["loss"]["story_256"]);
    for (std::size_t l = 0; l < 6; ++l) {
        const LayerMeasure& layer = story.layers[l];
        near(layer.rms, reference()["rms_by_layer_story_256"][l]);
        near(layer.largest_over_rms, reference()["largest_over_rms_by_layer"][l][0]);
        BOOST_TEST(layer.channel_of_largest == reference()["largest_over_rms_by_layer"][l][1].get<std::size_t>());
        near(layer.logit_lens_loss.value(), reference()["logit_lens_loss_story_256"][l]);
        for (std::size_t h = 0; h < layer.heads.size(); ++h) {
            near(layer.heads[h].entropy, reference()["attention_entropy_nats"][l - 1][h]);
            near(layer.heads[h].mass_on_first.value(), reference()["attention_mass_on_bos"][l - 1][h]);
        }
    }

    const Measures text = measure<double>(model, text2());
    for (std::size_t l = 0; l < 6; ++l)
        near(text.layers[l].gradient_norm.value(), reference()["stream_gradient_norm_text2"][l]);
    std::map<std::string, Named> by_name;
    for (const Named& weight : text.weights) by_name[weight.name] = weight;
    for (const auto& [name, norm] : reference()["gradient_norm_text2"].items()) BOOST_TEST_CONTEXT(name) {
            BOOST_REQUIRE(by_name.contains(name));
            near(by_name[name].norm.value(), norm);
        }
    for (const auto& [name, gain] : reference()["gains"].items()) BOOST_TEST_CONTEXT(name) {
            near(by_name[name].mean, gain["mean"]);
            near(by_name[name].min, gain["min"]);
            near(by_name[name].max, gain["max"]);
        }

    const Measures one = measure<float>(model, {1});
    BOOST_TEST(!one.loss);
    BOOST_TEST(!one.layers[1].heads[0].mass_on_first);
}

BOOST_AUTO_TEST_CASE(changes_without_training) {
    std::map<std::string, std::vector<std::string>> changes = {{"as_trained", {}}, {"gains_one", {"norm.gain=none"}},
        {"no_final_norm", {"final_norm=none"}}, {"eps_1e-2", {"norm.eps=1e-2"}}, {"eps_1", {"norm.eps=1"}},
        {"act_relu", {"ffn.activation=relu"}}, {"act_gelu_erf", {"ffn.activation=gelu"}},
        {"act_quick_gelu", {"ffn.activation=quick_gelu"}}, {"no_rope", {"rope=none"}}, {"post", {"placement=post"}},
        {"peri_gain_one", {"placement=peri"}}, {"no_norms_in_blocks", {"norm=none"}},
        {"qk_norm_gain_one", {"attention.qk_norm=per_head"}}, {"softcap_50", {"attention.softcap=50"}},
        {"softcap_5", {"attention.softcap=5"}}, {"softcap_1", {"attention.softcap=1"}},
        {"window_8", {"attention.window=8"}}, {"window_32", {"attention.window=32"}},
        {"weights_bfloat16", {"bfloat16"}}, {"weights_float16", {"half"}}};
    for (int l = 0; l < 5; ++l) {
        changes["without_attn_" + std::to_string(l)] = {"attention." + std::to_string(l)};
        changes["without_ffn_" + std::to_string(l)] = {"ffn." + std::to_string(l)};
    }
    std::size_t tried = 0;
    for (const auto& [name, expected] : reference()["loss_text2_changed"].items()) BOOST_TEST_CONTEXT(name) {
            BOOST_REQUIRE(changes.contains(name));
            nn::Checkpoint model = nn::load_checkpoint(stories);
            for (const std::string& change : changes[name])
                if (change.find('=') != std::string::npos) set(model, change);
                else if (change.find('.') != std::string::npos) leave_out(model, change);
                else round_weights(model, change);
            near(loss_of(model.logits<double>(text2()), text2()).value(), expected);
            ++tried;
        }
    BOOST_TEST(tried == changes.size());

    nn::Checkpoint model = nn::load_checkpoint(stories);
    for (const char* const wrong : {"norm.esp=1", "norm.eps", "norm.eps=", "norm.eps=-1", "norm.eps=nan", "norm.eps=1x",
             "placement=mhc", "placement=perry", "rope=yes", "attention.window=0", "attention.window=2.5", ""})
        BOOST_TEST_CONTEXT(wrong) BOOST_CHECK_THROW(set(model, wrong), Error);
    for (const char* const wrong : {"attention.5", "ffn", "ffn.", "ffn.-1", "ffn.1x", "norm.1", ""})
        BOOST_TEST_CONTEXT(wrong) BOOST_CHECK_THROW(leave_out(model, wrong), Error);
    BOOST_CHECK_THROW(round_weights(model, "float"), Error);
}

BOOST_AUTO_TEST_CASE(jacobians) {
    const nn::Checkpoint model = nn::load_checkpoint(stories);
    const Array<std::int64_t> first = ids_in(reference()["encode"]["ids"], 8);
    for (const std::size_t block : {0u, 4u}) {
        const std::vector<double> values = block_singular_values(model, first, block);
        const json& expected = reference()["block_jacobian_singular_values_trained"][block];
        near(values.front(), expected[0], 1e-7);
        near(values[values.size() / 2], expected[1], 1e-7);
        near(values.back(), expected[2], 1e-7);
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_trained
