// Every learned tensor of a described model, with its count in letters and as a number.
#pragma once // internal

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/nn/models/ledger.hpp>

namespace chalkgrad::nn {

struct ModelTensor {
    std::string name, component;
    std::int64_t elements = 1;
    std::int64_t factor = 1; ///< elements = factor times what the letters stand for
    std::string letters{};   ///< one character each
    bool matrix = false;     ///< the others are gains, biases and single numbers
    bool routed = false;     ///< of experts, of which a token uses some
};

struct BlockTensors {
    std::string path; ///< "model.layers.0"
    std::vector<ModelTensor> tensors;
    std::int64_t copies = 1; ///< layers with these very tensors; `path` is the first
};

struct ModelTensors {
    std::vector<ModelTensor> outer; ///< embeddings, last norm, head, towers
    std::vector<BlockTensors> blocks;
    std::vector<Letter> letters;
};

/// Read off the model's modules. Throws Error where a tensor has more than 2^63 elements.
ModelTensors tensors_of(const ModelDescription& model);

/// a·b and a+b. Throw Error beyond 2^63, naming `what`.
std::int64_t checked_product(std::int64_t a, std::int64_t b, std::string_view what);
std::int64_t checked_sum(std::int64_t a, std::int64_t b, std::string_view what);

} // namespace chalkgrad::nn
