// Checkpoints with known scores, read as they are and in every other form that their weights may have.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <span>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/nn/checkpoint/checkpoint.hpp>

#include "checkpoint_files.hpp"

namespace test_checkpoint {
BOOST_AUTO_TEST_SUITE(checkpoint)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

Array<std::int64_t> ids_in(const json& list) {
    Array<std::int64_t> ids(std::vector<std::size_t>{list.size()});
    for (std::size_t i = 0; i < list.size(); ++i) ids(i) = list[i];
    return ids;
}

template <class T> double difference(const Array<T>& scores, std::size_t row, const json& reference) {
    double largest = 0;
    for (std::size_t j = 0; j < reference.size(); ++j)
        largest = std::max(largest, std::abs(static_cast<double>(scores(row, j)) - reference[j].get<double>()));
    return largest;
}

/// The largest difference between the scores of a checkpoint and those of a reference.
template <class T> double difference(const std::filesystem::path& folder, const std::string& reference_of) {
    const json reference = json_in(checkpoints / reference_of / "reference.json");
    const Array<T> scores = nn::load_checkpoint(folder).logits<T>(ids_in(reference["ids"]));
    double largest = 0;
    for (std::size_t t = 0; t < scores.shape()[0]; ++t)
        largest = std::max(largest, difference(scores, t, reference["logits"][t]));
    return largest;
}

double loss(const Array<double>& scores, const Array<std::int64_t>& ids) {
    double sum = 0;
    for (std::size_t t = 0; t + 1 < ids.size(); ++t) {
        double total = 0;
        for (std::size_t j = 0; j < scores.shape()[1]; ++j) total += std::exp(scores(t, j));
        sum += std::log(total) - scores(t, static_cast<std::size_t>(ids(t + 1)));
    }
    return sum / static_cast<double>(ids.size() - 1);
}

const char* const tiny[] = {"gemma2", "gpt2", "gpt_oss", "qwen3"};

} // namespace

BOOST_AUTO_TEST_CASE(tiny_ones_have_their_scores) {
    for (const char* name : tiny) BOOST_TEST_CONTEXT(name) {
            BOOST_TEST(difference<double>(checkpoints / name, name) < 1e-9);
            BOOST_TEST(difference<float>(checkpoints / name, name) < 2e-4);
            const json reference = json_in(checkpoints / name / "reference.json");
            BOOST_TEST(
                nn::load_checkpoint(checkpoints / name).parameters() == reference["parameters"].get<std::size_t>());
        }
}

BOOST_AUTO_TEST_CASE(a_trained_one_has_its_scores_and_losses) {
    const nn::Checkpoint model = nn::load_checkpoint(checkpoints / "stories260K");
    const json reference = json_in(checkpoints / "stories260K" / "reference.json");
    BOOST_TEST(model.parameters() == 260'032u);
    const Array<std::int64_t> ids = ids_in(reference["logits"]["ids"]);
    for (const auto& [row, scores] : reference["logits"]["rows"].items()) {
        BOOST_TEST(difference(model.logits<double>(ids), std::stoul(row), scores) < 1e-9);
        BOOST_TEST(difference(model.logits<float>(ids), std::stoul(row), scores) < 2e-4);
    }

    const Array<std::int64_t> text = ids_in(reference["encode"]["ids"]);
    BOOST_TEST(std::abs(loss(model.logits<double>(text), text) - reference["loss"]["text2"].get<double>()) < 1e-9);
    json first(reference["greedy_from_bos"]);
    first.erase(first.begin() + 256, first.end());
    const Array<std::int64_t> story = ids_in(first);
    const std::vector<Array<double>> streams = model.streams<double>(story);
    for (std::size_t l = 0; l < streams.size(); ++l) {
        double squares = 0;
        for (const double x : streams[l]) squares += x * x;
        const double rms = std::sqrt(squares / static_cast<double>(streams[l].size()));
        BOOST_TEST(std::abs(rms - reference["rms_by_layer_story_256"][l].get<double>()) < 1e-9);
        const double lens = reference["logit_lens_loss_story_256"][l];
        BOOST_TEST(std::abs(loss(model.read_out(streams[l]), story) - lens) < 1e-9);
    }
}

BOOST_AUTO_TEST_CASE(
    computed_in_storage_types) { // each op rounds its result: far coarser than float, and no worse than docs say
    const auto between = [](double low, double value, double high) { return low < value && value < high; };
    for (const char* name : tiny) BOOST_TEST_CONTEXT(name) {
            BOOST_TEST(between(1e-3, difference<half>(checkpoints / name, name), 0.05));
            const bool experts =
                std::string(name) == "gpt_oss"; // a router's scores that are rounded may pick another one
            BOOST_TEST(between(1e-2, difference<bfloat16>(checkpoints / name, name), experts ? 1 : 0.25));
        }
}

BOOST_AUTO_TEST_CASE(one_tape_and_block_by_block_agree) {
    for (const char* name : tiny) BOOST_TEST_CONTEXT(name) {
            const nn::Checkpoint model = nn::load_checkpoint(checkpoints / name);
            const Array<std::int64_t> ids = ids_in(json_in(checkpoints / name / "reference.json")["ids"]);
            const Tape tape;
            nn::Binding<double> on(tape);
            BOOST_TEST((model.model(on, ids).value() == model.logits<double>(ids)));
        }
}

BOOST_AUTO_TEST_CASE(from_memory_as_from_the_folder) {
    const std::filesystem::path folder = checkpoints / "qwen3";
    const std::string config = read_file(folder / "config.json"), weights = read_file(folder / "model.safetensors");
    const auto bytes = std::as_bytes(std::span(weights));
    const Array<std::int64_t> ids = ids_in(json_in(folder / "reference.json")["ids"]);
    BOOST_TEST(
        (nn::load_checkpoint(config, bytes).logits<double>(ids) == nn::load_checkpoint(folder).logits<double>(ids)));
    for (const std::size_t cut : {std::size_t(0), std::size_t(7), std::size_t(100), bytes.size() - 1})
        BOOST_CHECK_THROW(nn::load_checkpoint(config, bytes.first(cut)), Error);
}

BOOST_AUTO_TEST_CASE(attention_weights) {
    const nn::Checkpoint model = nn::load_checkpoint(checkpoints / "stories260K");
    const json reference = json_in(checkpoints / "stories260K" / "reference.json");
    json first(reference["greedy_from_bos"]);
    first.erase(first.begin() + 256, first.end());
    const std::vector<Array<double>> streams = model.streams<double>(ids_in(first));
    for (std::size_t l = 0; l < model.blocks().size(); ++l) {
        const Tape tape;
        nn::Binding<double> on(tape);
        const Array<double> weights = model.blocks()[l].attention_weights(on, tape.constant(streams[l])).value();
        for (std::size_t h = 0; h < 8; ++h) {
            double on_first = 0;
            for (std::size_t t = 1; t < 256; ++t) on_first += weights(h, t, 0) / 255;
            BOOST_TEST(std::abs(on_first - reference["attention_mass_on_bos"][l][h].get<double>()) < 1e-9);
        }
    }
}

/// The scores stay what they are when the same numbers are stored in another way.
BOOST_AUTO_TEST_CASE(other_names_and_types) {
    const auto same_scores = [](const char* name, const json& config, const Tensors& tensors) {
        const TemporaryFolder folder;
        write_checkpoint(folder.path, config, tensors);
        BOOST_TEST(difference<double>(folder.path, name) < 1e-9);
    };
    for (const char* name : tiny) BOOST_TEST_CONTEXT(name) {
            const json config = json_in(checkpoints / name / "config.json");
            const Tensors tensors = tensors_in(checkpoints / name);
            for (const std::string prefix : {"model.", "transformer.", "_orig_mod.language_model.model.", ""})
                BOOST_TEST_CONTEXT("prefix '" + prefix + "'") {
                    Tensors renamed;
                    for (const auto& [its, numbers] : tensors) {
                        const bool head = its.starts_with("lm_head");
                        renamed[head ? its : prefix + (its.starts_with("model.") ? its.substr(6) : its)] = numbers;
                    }
                    same_scores(name, config, renamed);
                }
            Tensors wide = tensors;
            for (auto& [its, numbers] : wide) numbers.type = "F64";
            same_scores(name, config, wide);
        }
    const json config = json_in(checkpoints / "gpt2" / "config.json");
    Tensors tensors = tensors_in(checkpoints / "gpt2"); // what real files of GPT-2 hold beside parameters
    tensors["h.0.attn.bias"] = {{1, 1, 64, 64}, std::vector<double>(64 * 64, 1), "BOOL"};
    tensors["h.1.attn.masked_bias"] = {{}, {-10000}};
    tensors["lm_head.weight"] = tensors["wte.weight"];
    same_scores("gpt2", config, tensors);
}

BOOST_AUTO_TEST_CASE(half_types_are_read_as_the_numbers_they_are) {
    for (const char* type : {"BF16", "F16"}) BOOST_TEST_CONTEXT(type) {
            const json config = json_in(checkpoints / "stories260K" / "config.json");
            Tensors narrow = tensors_in(checkpoints / "stories260K");
            for (auto& [name, numbers] : narrow) numbers.type = type;
            const TemporaryFolder folder;
            write_checkpoint(folder.path, config, narrow);
            const json reference = json_in(checkpoints / "stories260K" / "reference.json");
            const Array<std::int64_t> text = ids_in(reference["encode"]["ids"]);
            const double expected =
                reference["loss_text2_changed"][type[0] == 'B' ? "weights_bfloat16" : "weights_float16"];
            BOOST_TEST(std::abs(loss(nn::load_checkpoint(folder.path).logits<double>(text), text) - expected) < 1e-9);
        }
}

BOOST_AUTO_TEST_CASE(the_same_weights_in_changed_blocks) {
    const json reference = json_in(checkpoints / "stories260K" / "reference.json");
    const Array<std::int64_t> text = ids_in(reference["encode"]["ids"]);
    using Change = std::function<void(nn::BlockOptions&)>;
    const std::map<std::string, Change> changes = {
        {"as_trained", [](nn::BlockOptions&) {}},
        {"post", [](nn::BlockOptions& o) { o.placement = nn::Placement::post; }},
        {"peri_gain_one", [](nn::BlockOptions& o) { o.placement = nn::Placement::peri; }},
        {"no_norms_in_blocks", [](nn::BlockOptions& o) { o.norm.kind = nn::NormKind::none; }},
        {"no_rope", [](nn::BlockOptions& o) { o.attention.rope.reset(); }},
        {"qk_norm_gain_one",
            [](nn::BlockOptions& o) { o.attention.qk_norm = {.axis = nn::QkAxis::per_head, .norm = {.eps = 1e-5}}; }},
        {"softcap_5", [](nn::BlockOptions& o) { o.attention.softcap = 5; }},
        {"window_8", [](nn::BlockOptions& o) { o.attention.window = 8; }},
        {"act_relu", [](nn::BlockOptions& o) { o.ffn.activation = nn::Activation::relu; }},
    };
    for (const auto& [name, change] : changes) BOOST_TEST_CONTEXT(name) {
            nn::Checkpoint model = nn::load_checkpoint(checkpoints / "stories260K");
            for (nn::Block& block : model.blocks()) {
                nn::BlockOptions options = block.options;
                change(options);
                block = nn::rebuilt(block, options);
            }
            const double expected = reference["loss_text2_changed"][name];
            BOOST_TEST(std::abs(loss(model.logits<double>(text), text) - expected) < 1e-9);
        }
    nn::Block block = nn::load_checkpoint(checkpoints / "stories260K").blocks()[0];
    nn::BlockOptions options = block.options;
    options.ffn.gated = false;
    BOOST_CHECK_EXCEPTION(nn::rebuilt(block, options), Error,
        [](const Error& error) { return std::string(error.what()).find("there are no numbers") != std::string::npos; });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_checkpoint
