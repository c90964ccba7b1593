// Where each family keeps what: files whose every number says where it lies.
#include <boost/test/unit_test.hpp>

#include <functional>

#include <chalkgrad/nn/checkpoint/checkpoint.hpp>
#include <chalkgrad/nn/checkpoint/names.hpp>
#include <chalkgrad/nn/models/types.hpp>

#include "checkpoint_files.hpp"

namespace test_layouts {
BOOST_AUTO_TEST_SUITE(layouts)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

/// Number i of the k-th tensor, by name, is 10000 k + i.
struct Numbered {
    TemporaryFolder folder;
    std::map<std::string, double> start;

    Numbered(const json& config, const std::map<std::string, std::vector<std::size_t>>& shapes) {
        Tensors tensors;
        for (const auto& [name, shape] : shapes) {
            Numbers numbers{shape, std::vector<double>(Shape(shape).size()), "F64"};
            start[name] = 10'000.0 * static_cast<double>(tensors.size());
            for (std::size_t i = 0; i < numbers.values.size(); ++i)
                numbers.values[i] = start[name] + static_cast<double>(i);
            tensors[name] = std::move(numbers);
        }
        write_checkpoint(folder.path, config, tensors);
    }
};

Array<double> parameter(const nn::Checkpoint& model, const std::string& wanted) {
    for (const auto& [name, parameter] : nn::parameters_of(model.model))
        if (name == wanted) return parameter.value();
    BOOST_FAIL("no parameter " << wanted);
    return {};
}

/// That each element (i, o) of a matrix is number place(i, o) of a stored tensor.
void lies(const nn::Checkpoint& model, const std::string& name, double start,
    const std::function<std::size_t(std::size_t, std::size_t)>& place) {
    const Array<double> values = parameter(model, name);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.shape()[0]; ++i)
        for (std::size_t o = 0; o < values.shape()[1]; ++o)
            wrong += values(i, o) != start + static_cast<double>(place(i, o));
    BOOST_TEST(wrong == 0u, name);
}

const json sizes = {{"hidden_size", 8}, {"num_hidden_layers", 1}, {"num_attention_heads", 4}, {"intermediate_size", 10},
    {"vocab_size", 6}};

json config(const char* type, const json& more) {
    json all = sizes;
    all["model_type"] = type;
    all.update(more);
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(gpt_neox_keeps_a_head_together) { // 4 heads of 2
    const Numbered file(config("gpt_neox", json::object()),
        {{"gpt_neox.embed_in.weight", {6, 8}}, {"embed_out.weight", {6, 8}}, {"gpt_neox.final_layer_norm.weight", {8}},
            {"gpt_neox.final_layer_norm.bias", {8}}, {"gpt_neox.layers.0.attention.query_key_value.weight", {24, 8}},
            {"gpt_neox.layers.0.attention.query_key_value.bias", {24}},
            {"gpt_neox.layers.0.attention.dense.weight", {8, 8}}, {"gpt_neox.layers.0.attention.dense.bias", {8}},
            {"gpt_neox.layers.0.attention.bias", {1, 1, 3, 3}}, {"gpt_neox.layers.0.attention.masked_bias", {}},
            {"gpt_neox.layers.0.attention.rotary_emb.inv_freq", {1}},
            {"gpt_neox.layers.0.mlp.dense_h_to_4h.weight", {10, 8}}, {"gpt_neox.layers.0.mlp.dense_h_to_4h.bias", {10}},
            {"gpt_neox.layers.0.mlp.dense_4h_to_h.weight", {8, 10}}, {"gpt_neox.layers.0.mlp.dense_4h_to_h.bias", {8}},
            {"gpt_neox.layers.0.input_layernorm.weight", {8}}, {"gpt_neox.layers.0.input_layernorm.bias", {8}},
            {"gpt_neox.layers.0.post_attention_layernorm.weight", {8}},
            {"gpt_neox.layers.0.post_attention_layernorm.bias", {8}}});
    const nn::Checkpoint model = nn::load_checkpoint(file.folder.path);
    const double packed = file.start.at("gpt_neox.layers.0.attention.query_key_value.weight");
    const double bias = file.start.at("gpt_neox.layers.0.attention.query_key_value.bias");
    for (const auto& [name, third] : {std::pair("q", 0u), {"k", 1u}, {"v", 2u}}) {
        const auto row = [third = third](std::size_t o) { return (o / 2 * 3 + third) * 2 + o % 2; };
        lies(model, std::string("layers.0.attention.w") + name, packed,
            [&](std::size_t i, std::size_t o) { return row(o) * 8 + i; });
        const Array<double> biases = parameter(model, std::string("layers.0.attention.b") + name);
        for (std::size_t o = 0; o < 8; ++o) BOOST_TEST(biases(o) == bias + static_cast<double>(row(o)));
    }
    lies(model, "w_head", file.start.at("embed_out.weight"), [](std::size_t i, std::size_t o) { return o * 8 + i; });
    lies(model, "embedding", file.start.at("gpt_neox.embed_in.weight"),
        [](std::size_t i, std::size_t o) { return i * 8 + o; });
}

BOOST_AUTO_TEST_CASE(phi3_packs_one_after_the_other) { // 4 heads and 2 key heads of 2
    const Numbered file(config("phi3", {{"num_key_value_heads", 2}}),
        {{"model.embed_tokens.weight", {6, 8}}, {"lm_head.weight", {6, 8}}, {"model.norm.weight", {8}},
            {"model.layers.0.self_attn.qkv_proj.weight", {16, 8}}, {"model.layers.0.self_attn.o_proj.weight", {8, 8}},
            {"model.layers.0.mlp.gate_up_proj.weight", {20, 8}}, {"model.layers.0.mlp.down_proj.weight", {8, 10}},
            {"model.layers.0.input_layernorm.weight", {8}}, {"model.layers.0.post_attention_layernorm.weight", {8}}});
    const nn::Checkpoint model = nn::load_checkpoint(file.folder.path);
    const double packed = file.start.at("model.layers.0.self_attn.qkv_proj.weight");
    for (const auto& [name, first] : {std::pair("q", 0u), {"k", 8u}, {"v", 12u}})
        lies(model, std::string("layers.0.attention.w") + name, packed,
            [first = first](std::size_t i, std::size_t o) { return (first + o) * 8 + i; });
    lies(model, "layers.0.ffn.w_gate_up", file.start.at("model.layers.0.mlp.gate_up_proj.weight"),
        [](std::size_t i, std::size_t o) { return o * 8 + i; });
}

BOOST_AUTO_TEST_CASE(falcon_keeps_a_key_head_together) { // 2 groups of 2 queries, a key and a value
    const Numbered file(
        config("falcon", {{"num_kv_heads", 2}, {"new_decoder_architecture", true}, {"ffn_hidden_size", 10}}),
        {{"transformer.word_embeddings.weight", {6, 8}}, {"transformer.ln_f.weight", {8}},
            {"transformer.ln_f.bias", {8}}, {"transformer.h.0.self_attention.query_key_value.weight", {16, 8}},
            {"transformer.h.0.self_attention.dense.weight", {8, 8}},
            {"transformer.h.0.mlp.dense_h_to_4h.weight", {10, 8}},
            {"transformer.h.0.mlp.dense_4h_to_h.weight", {8, 10}}, {"transformer.h.0.ln_attn.weight", {8}},
            {"transformer.h.0.ln_attn.bias", {8}}, {"transformer.h.0.ln_mlp.weight", {8}},
            {"transformer.h.0.ln_mlp.bias", {8}}});
    const nn::Checkpoint model = nn::load_checkpoint(file.folder.path);
    const double packed = file.start.at("transformer.h.0.self_attention.query_key_value.weight");
    lies(model, "layers.0.attention.wq", packed,
        [](std::size_t i, std::size_t o) { return (o / 4 * 8 + o % 4) * 8 + i; });
    lies(model, "layers.0.attention.wk", packed,
        [](std::size_t i, std::size_t o) { return (o / 2 * 8 + 4 + o % 2) * 8 + i; });
    lies(model, "layers.0.attention.wv", packed,
        [](std::size_t i, std::size_t o) { return (o / 2 * 8 + 6 + o % 2) * 8 + i; });
}

BOOST_AUTO_TEST_CASE(mixtral_has_a_file_entry_for_each_expert) {
    std::map<std::string, std::vector<std::size_t>> shapes = {{"model.embed_tokens.weight", {6, 8}},
        {"lm_head.weight", {6, 8}}, {"model.norm.weight", {8}}, {"model.layers.0.input_layernorm.weight", {8}},
        {"model.layers.0.post_attention_layernorm.weight", {8}},
        {"model.layers.0.block_sparse_moe.gate.weight", {3, 8}}};
    for (const char* name : {"q", "k", "v", "o"})
        shapes["model.layers.0.self_attn." + std::string(name) + "_proj.weight"] = {8, 8};
    const std::string experts = "model.layers.0.block_sparse_moe.experts.";
    for (const char* e : {"0", "1", "2"}) {
        shapes[experts + e + ".w1.weight"] = shapes[experts + e + ".w3.weight"] = {10, 8};
        shapes[experts + e + ".w2.weight"] = {8, 10};
    }
    const json moe = config("mixtral", {{"num_local_experts", 3}, {"num_key_value_heads", 4}});
    {
        const Numbered file(moe, shapes);
        const nn::Checkpoint model = nn::load_checkpoint(file.folder.path);
        const Array<double> gate = parameter(model, "layers.0.ffn.experts.w_gate");
        const Array<double> down = parameter(model, "layers.0.ffn.experts.w_down");
        for (std::size_t e = 0; e < 3; ++e) {
            const std::string name = experts + std::to_string(e);
            BOOST_TEST(gate(e, 3, 7) == file.start.at(name + ".w1.weight") + 7 * 8 + 3);
            BOOST_TEST(down(e, 3, 7) == file.start.at(name + ".w2.weight") + 7 * 10 + 3);
        }
    }
    shapes.erase(experts + "1.w3.weight");
    const Numbered file(moe, shapes);
    BOOST_CHECK_EXCEPTION(nn::load_checkpoint(file.folder.path), Error, [&](const Error& error) {
        return std::string(error.what()).find("lacks '" + experts + "1.w3.weight'") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(parts_of_a_parameter_are_what_they_are_in_the_whole) {
    for (const char* name : {"gpt2", "gpt_oss", "qwen3"})
        for (const auto& [its, parameter] : nn::parameters_of(nn::load_checkpoint(checkpoints / name).model))
            BOOST_TEST_CONTEXT(name << ' ' << its) {
                const std::size_t rows = parameter.shape()[0], row = parameter.shape().size() / rows;
                const Array<double> whole = parameter.rows(0, rows), part = parameter.rows(rows / 3, rows - rows / 3);
                BOOST_TEST(
                    std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(rows / 3 * row)));
                BOOST_CHECK_THROW(parameter.rows(1, rows), Error);
            }
}

BOOST_AUTO_TEST_CASE(types_of_the_table_are_known) {
    for (const std::string_view type : nn::checkpoint_types()) BOOST_CHECK_NO_THROW(nn::find_model_type(type));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_layouts
