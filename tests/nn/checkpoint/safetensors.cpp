// Damaged and hostile checkpoints: one clear error each.
#include <boost/test/unit_test.hpp>

#include <functional>

#include <sys/stat.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/nn/checkpoint/checkpoint.hpp>

#include "checkpoint_files.hpp"

namespace test_safetensors {
BOOST_AUTO_TEST_SUITE(safetensors)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

void refuses(const std::filesystem::path& folder, const std::string& part) {
    BOOST_TEST_CONTEXT(part) {
        BOOST_CHECK_EXCEPTION(nn::load_checkpoint(folder), Error, [&](const Error& error) {
            const std::string what = error.what();
            BOOST_TEST(what.starts_with("c"), what); // checkpoint or config
            BOOST_TEST(what.find(part) != std::string::npos, what);
            BOOST_TEST(what.size() < 600u, what);
            return true;
        });
    }
}

/// The file in the place of a sound model's.
void refuses_file(const std::string& bytes, const std::string& part) {
    const TemporaryFolder folder;
    write_file(folder.path / "config.json", read_file(checkpoints / "qwen3" / "config.json"));
    write_file(folder.path / "model.safetensors", bytes);
    refuses(folder.path, part);
}

void refuses_header(const std::string& header, const std::string& part) {
    refuses_file(framed(header, std::string(8, '\0')), part);
}

/// A sound model with one thing changed.
void refuses_changed(const std::string& name, const std::function<void(json& config, Tensors& tensors)>& change,
    const std::string& part) {
    json config = json_in(checkpoints / name / "config.json");
    Tensors tensors = tensors_in(checkpoints / name);
    change(config, tensors);
    const TemporaryFolder folder;
    write_checkpoint(folder.path, config, tensors);
    refuses(folder.path, part);
}

} // namespace

BOOST_AUTO_TEST_CASE(files_that_are_cut_short_or_promise_too_much) {
    const std::string sound = read_file(checkpoints / "qwen3" / "model.safetensors");
    refuses_file("", "cut short");
    refuses_file(sound.substr(0, 7), "cut short");
    refuses_file(sound.substr(0, 8), "cut short");
    refuses_file(sound.substr(0, 1000), "cut short");
    refuses_file(sound.substr(0, sound.size() - 1), "within the");
    refuses_file(sound + "x", "its tensors end");
    for (const std::uint64_t length : {std::uint64_t(1) << 60, ~std::uint64_t(0), std::uint64_t(1) << 63}) {
        std::string bytes = sound;
        std::memcpy(bytes.data(), &length, sizeof(length));
        refuses_file(bytes, "promises a header of");
    }
    refuses_file(std::string(4096, '\0'), "no JSON");
    refuses_file(framed("", ""), "no JSON");
}

BOOST_AUTO_TEST_CASE(headers) {
    refuses_header("{", "no JSON");
    refuses_header("[]", "no JSON object");
    refuses_header("{\"a\xff\":1}", "no JSON");
    refuses_header(std::string(100'000, '['), "too deeply");
    refuses_header(R"({"a":1})", "'a' no dtype");
    refuses_header(R"({"a":{"dtype":"F32","shape":[2]}})", "'a' no dtype");
    refuses_header(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", "the type \"F31\"");
    refuses_header(R"({"a":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})", "the type 7");
    refuses_header(R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", "a shape that");
    refuses_header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "a shape that");
    refuses_header(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "a shape that");
    refuses_header(
        R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", "an impossible shape");
    refuses_header(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})", "an impossible shape");
    refuses_header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "do not fit");
    refuses_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "data_offsets [8,0]");
    refuses_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,9]}})", "data_offsets [0,9]");
    refuses_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", "data_offsets [0]");
    refuses_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551616]}})", "data_offsets");
    refuses_header(
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
        "two tensors or to none");
    refuses_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "two tensors or to none");
    refuses_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "its tensors end");
    refuses_header(
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
        "names \"a\" twice");
    refuses_header(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "names \"dtype\" twice");
}

BOOST_AUTO_TEST_CASE(folders) {
    refuses("/nonexistent", "is no folder");
    refuses(checkpoints / "qwen3" / "config.json", "is no folder");
    const TemporaryFolder folder;
    refuses(folder.path, "no config.json");
    write_file(folder.path / "config.json", read_file(checkpoints / "qwen3" / "config.json"));
    refuses(folder.path, "no model.safetensors");
    BOOST_REQUIRE(::mkfifo((folder.path / "model.safetensors").c_str(), 0600) == 0);
    refuses(folder.path, "no regular file");
    std::filesystem::remove(folder.path / "model.safetensors");
    std::filesystem::create_directory(folder.path / "model.safetensors");
    refuses(folder.path, "no regular file");
}

BOOST_AUTO_TEST_CASE(shards) {
    const TemporaryFolder folder;
    write_file(folder.path / "config.json", read_file(checkpoints / "qwen3" / "config.json"));
    Tensors first, second;
    json map;
    for (const auto& [name, numbers] : tensors_in(checkpoints / "qwen3")) {
        const bool early = first.size() < 10;
        (early ? first : second)[name] = numbers;
        map[name] = early ? "a.safetensors" : "b.safetensors";
    }
    const auto with_index = [&](const json& weight_map, const std::string& part) {
        write_file(folder.path / "model.safetensors.index.json", json{{"weight_map", weight_map}}.dump());
        if (!part.empty()) refuses(folder.path, part);
    };
    const std::string name = first.begin()->first;
    write_file(folder.path / "a.safetensors", testing::safetensors(first));
    with_index(map, "b.safetensors' cannot be opened");
    write_file(folder.path / "b.safetensors", testing::safetensors(second));
    with_index(map, "");
    BOOST_TEST(nn::load_checkpoint(folder.path).parameters() > 0u);
    for (const char* file : {"../a.safetensors", "/etc/passwd", "..", ".", "", "x/../../a.safetensors"}) {
        json outside = map;
        outside[name] = file;
        with_index(outside, "it must be a file of the same folder");
    }
    json changed = map;
    changed[name] = 3;
    with_index(changed, "it must be a file of the same folder");
    changed = map;
    changed.erase(name);
    with_index(changed, "does not name it");
    changed = map;
    changed["model.extra"] = "a.safetensors";
    with_index(changed, "'model.extra' is in a.safetensors, which does not hold it");
    with_index(json(3), "no weight_map");
    write_file(folder.path / "model.safetensors.index.json", "{\"weight_map\":{\"a\":\"a\",\"a\":\"b\"}}");
    refuses(folder.path, "twice");
    with_index(map, "");
    first.insert(*second.begin());
    write_file(folder.path / "a.safetensors", testing::safetensors(first));
    refuses(folder.path, "the index says that b.safetensors does");
}

BOOST_AUTO_TEST_CASE(weights_of_another_config) {
    const auto changes = [](const char* field, const json& value) {
        return [=](json& config, Tensors&) { config[field] = value; };
    };
    refuses_changed("qwen3", changes("intermediate_size", 50), "asks for (50, 32)");
    refuses_changed("qwen3", changes("num_hidden_layers", 1), "for which this model has no place");
    refuses_changed("qwen3", changes("num_hidden_layers", 3), "lacks 'model.layers.2.self_attn.q_proj.weight'");
    refuses_changed("qwen3", changes("num_hidden_layers", 90'000), "they do not belong together");
    refuses_changed("qwen3", changes("vocab_size", std::int64_t(1) << 40), "asks for (1099511627776, 32)");
    refuses_changed("qwen3", changes("vocab_size", std::int64_t(1) << 62), "no model can be built");
    refuses_changed("qwen3", changes("tie_word_embeddings", false), "lacks 'lm_head.weight'");
    refuses_changed("qwen3", changes("model_type", "llama"), "q_norm.weight'");
    refuses_changed("qwen3", changes("model_type", "gpt2"), "");
    refuses_changed("qwen3", changes("model_type", "bert"), "weights of model_type 'bert' are not read");
    refuses_changed("qwen3", changes("model_type", "mamba"), "state-space");
    refuses_changed("gpt2", changes("n_head", 3), "");
    refuses_changed("gpt_oss", changes("num_local_experts", 5), "asks for (5, 32");
    refuses_changed(
        "qwen3", [](json&, Tensors& tensors) { tensors.erase("model.norm.weight"); }, "lacks 'model.norm.weight'");
    refuses_changed(
        "qwen3", [](json&, Tensors& tensors) { tensors.erase("model.embed_tokens.weight"); },
        "no tensor 'embed_tokens.weight'");
    refuses_changed(
        "qwen3", [](json&, Tensors& tensors) { tensors["model.norm.weight"].type = "U8"; }, "as U8");
    refuses_changed(
        "qwen3",
        [](json&, Tensors& tensors) {
            tensors["score.weight"] = {{2, 32}, std::vector<double>(64)};
        },
        "'score.weight'");
    refuses_changed(
        "qwen3",
        [](json&, Tensors& tensors) {
            tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"];
            tensors["lm_head.weight"].values[5] += 1;
        },
        "says that they are tied");
    refuses_changed(
        "gpt_oss",
        [](json& config, Tensors& tensors) {
            config["quantization_config"] = {{"quant_method", "mxfp4"}};
            const std::string experts = "model.layers.0.mlp.experts.";
            tensors.erase(experts + "down_proj");
            tensors[experts + "down_proj_blocks"] = {{4, 32, 12}, std::vector<double>(4 * 32 * 12), "U8"};
            tensors[experts + "down_proj_scales"] = {{4, 32}, std::vector<double>(4 * 32), "U8"};
        },
        "quantized weights are not read");
}

BOOST_AUTO_TEST_CASE(ids) {
    const nn::Checkpoint model = nn::load_checkpoint(checkpoints / "qwen3");
    const auto refused = [&](const Array<std::int64_t>& ids, const std::string& part) {
        BOOST_CHECK_EXCEPTION(model.logits<double>(ids), Error,
            [&](const Error& error) { return std::string(error.what()).find(part) != std::string::npos; });
    };
    refused({1, 64}, "id 64 (number 1) is outside the vocabulary");
    refused({-1}, "id -1 (number 0)");
    refused(Array<std::int64_t>(std::vector<std::size_t>{0}), "at least one id");
    refused(Array<std::int64_t>(std::vector<std::size_t>{129}, 1), "context is 128 tokens");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_safetensors
