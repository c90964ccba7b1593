// chalkgrad inspect and list models from outside: the table, the JSON of the contract, one line for each wrong file.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>

#include <nlohmann/json.hpp>

#include "../program/call.hpp"

namespace test_inspect {
BOOST_AUTO_TEST_SUITE(inspect)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

const json& models() {
    static const json all = json::parse(read_file(CHALKGRAD_SOURCE_DIR "/tests/data/models/models.json"));
    return all;
}

struct Config {
    Folder folder;
    std::string path = folder / "config.json";
    explicit Config(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
    static Config of(const std::string& name) {
        for (const json& model : models())
            if (model["name"] == name) return Config(model["config"].dump());
        throw std::out_of_range(name);
    }
};

json document_of(const std::string& name) {
    const Ended ended = call({"inspect", Config::of(name).path, "--json"});
    BOOST_TEST(ended.status == 0, ended.err);
    BOOST_TEST(ended.err.empty());
    return json::parse(ended.out);
}

void check_refused(const Config& config, const std::string& part) {
    for (const char* form : {"--json", "--explain"}) {
        testing::check_refused({"inspect", config.path, form}, "inspect: '" + config.path + "'");
        testing::check_refused({"inspect", config.path, form}, part);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(the_document_of_the_contract) {
    const json document = document_of("llama-3.1-8b");
    BOOST_TEST(document["model_type"] == "llama");
    BOOST_TEST(document["placement"] == "pre");
    BOOST_TEST(document["norm"] ==
               (json{{"kind", "rms"}, {"eps", 1e-5}, {"gain", "w"}, {"bias", false}, {"cast", "before_weight"}}));
    BOOST_TEST(document["qk_norm"]["axis"] == "none");
    BOOST_TEST(document["ffn"]["kind"] == "swiglu");
    BOOST_TEST(document["ffn"]["gated"] == true);
    BOOST_TEST(document["ffn"]["packing"] == "separate");
    BOOST_TEST(document["ffn"]["limit"].is_null());
    BOOST_TEST(document["attention"]["heads"] == 32);
    BOOST_TEST(document["attention"]["kv_heads"] == 8);
    BOOST_TEST(document["attention"]["biases"] == json::array());
    const json& positions = document["attention"]["positions"];
    BOOST_TEST(positions["base"] == 500000);
    BOOST_TEST(
        positions["stretch"] == (json{{"kind", "llama3"}, {"factor", 8}, {"context", 8192}, {"slow", 1}, {"fast", 4}}));
    BOOST_TEST(document["tied_embeddings"] == false);
    const json& parameters = document["parameters"];
    BOOST_TEST(parameters["distinct"] == 8'030'261'248);
    BOOST_TEST(parameters["by_component"]["ffn"] == 5'637'144'576);
    BOOST_TEST(parameters["per_block"][0]["count"] == 32);
    BOOST_TEST(parameters["per_block"][0]["parameters"] == 218'112'000);
    BOOST_TEST(parameters["active_per_token"] == 8'030'261'248);
    BOOST_TEST(document["formula"].get<std::string>().find("13d² + 2d") != std::string::npos);
    BOOST_TEST(document["warnings"].is_array());
}

BOOST_AUTO_TEST_CASE(a_mixture_in_openai_s_own_schema) {
    const json document = document_of("gpt-oss-20b-original");
    BOOST_TEST(document["model_type"] == "gpt_oss");
    BOOST_TEST(document["ffn"]["kind"] == "moe_gpt_oss");
    BOOST_TEST(document["ffn"]["packing"] == "interleaved");
    BOOST_TEST(document["ffn"]["limit"] == 7);
    BOOST_TEST(document["attention"]["sinks"] == true);
    BOOST_TEST(document["attention"]["window"] == 128);
    BOOST_TEST(document["parameters"]["distinct"] == 20'914'757'184);
}

BOOST_AUTO_TEST_CASE(biases_of_the_ffn) {
    const auto biases = [](json config, const json& fields) {
        config.update(fields);
        const Config file(config.dump());
        return json::parse(call({"inspect", file.path, "--json"}).out)["ffn"]["biases"];
    };
    const auto config = [](const char* name) {
        return std::find_if(models().begin(), models().end(), [&](const json& m) {
            return m["name"] == name;
        })->at("config");
    };
    const json three = {"gate", "up", "down"}, two = {"up", "down"};
    BOOST_TEST(biases(config("llama-3.1-8b"), json::object()) == json::array());
    BOOST_TEST(biases(config("llama-3.1-8b"), {{"mlp_bias", true}}) == three);
    BOOST_TEST(biases(config("gpt-oss-20b"), json::object()) == three); // of every expert
    BOOST_TEST(biases(config("gpt2"), json::object()) == two);          // has no gate
    BOOST_TEST(
        call({"inspect", Config::of("gpt-oss-20b").path}).out.find("in one matrix, with biases") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_model_as_a_table_and_in_words) {
    for (const json& model : models()) {
        const Config config(model["config"].dump());
        const Ended table = call({"inspect", config.path}), words = call({"inspect", config.path, "--explain"});
        BOOST_TEST_CONTEXT(model["name"].get<std::string>() + table.err + words.err) {
            BOOST_TEST(table.status == 0);
            BOOST_TEST(words.status == 0);
            for (const char* step :
                {"1. Trace the residual graph", "2. Locate the norms", "3. Inspect the FFN", "4. Count the parameters"})
                BOOST_TEST(words.out.find(step) != std::string::npos);
        }
    }
    const Ended llama = call({"inspect", Config::of("llama-3.1-8b").path});
    for (const char* part : {"13d² + 2d = 218,112,000", "8,030,261,248", "SwiGLU", "ffn"})
        BOOST_TEST(llama.out.find(part == std::string("SwiGLU") ? "swiglu" : part) != std::string::npos, part);
    BOOST_TEST(call({"inspect", Config::of("olmo-2-1124-7b").path}).out.find("not Post-LN") != std::string::npos);
    BOOST_TEST(call({"inspect", Config::of("qwen3-0.6b").path}).out.find("alias") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(wrong_files) {
    check_refused(Config("not json"), "no JSON");
    check_refused(Config("[]"), "not an object");
    check_refused(Config("{}"), "model_type is missing");
    check_refused(Config(R"({"model_type": "whisper"})"), "speech");
    check_refused(Config(R"({"model_type": "llama", "hidden_size": -1})"), "hidden_size is -1");
    check_refused(Config("{\"model_type\": \"\x1b[31m\\n\"}"), "no JSON");
    const Ended missing = call({"inspect", "/nowhere/config.json"});
    BOOST_TEST(missing.status == 2);
    BOOST_TEST(missing.err.find("/nowhere/config.json") != std::string::npos);
    BOOST_TEST(call({"inspect", "/"}).status == 2);
    BOOST_TEST(call({"inspect", "/dev/zero"}).status == 2); // has no end
    BOOST_TEST(call({"inspect"}).status == 2);
    BOOST_TEST(call({"inspect", Config::of("gpt2").path, "--json", "--explain"}).status == 2);
}

BOOST_AUTO_TEST_CASE(a_hundred_megabytes_of_brackets) {
    const Config config(std::string(100'000'000, '['));
    const auto start = std::chrono::steady_clock::now();
    check_refused(config, "larger than");
    BOOST_TEST(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < 5);
}

BOOST_AUTO_TEST_CASE(graph_of_a_config) {
    for (const char* name : {"llama-3.1-8b", "olmo-2-1124-7b", "gpt-oss-20b"}) {
        const Config config = Config::of(name);
        const Ended dot = call({"graph", "--config", config.path});
        BOOST_TEST(dot.status == 0, dot.err);
        BOOST_TEST(dot.out.starts_with("digraph"));
        const json graph = json::parse(call({"graph", "--config", config.path, "--format", "json"}).out);
        BOOST_TEST(graph["topology"]["placement"] == document_of(name)["placement"]);
    }
    const Config wrong("{}");
    const Ended refused = call({"graph", "--config", wrong.path});
    BOOST_TEST(refused.status == 2);
    BOOST_TEST(refused.err.find("graph: '" + wrong.path + "'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(list_of_models) {
    const Ended text = call({"list", "models"});
    BOOST_TEST(text.status == 0);
    BOOST_TEST(text.out.find("output_only; RMS norm") != std::string::npos);
    const json list = json::parse(call({"list", "models", "--json"}).out);
    BOOST_TEST(list.size() >= 32u);
    for (const json& item : list)
        for (const char* key : {"name", "purpose", "section"}) BOOST_TEST(item.contains(key));
    for (const json& model : models()) {
        const std::string type = model["config"].value("model_type", "gpt_oss");
        BOOST_TEST(std::any_of(list.begin(), list.end(), [&](const json& item) { return item["name"] == type; }), type);
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_inspect
