// Every learned tensor of a described model, with its shape in letters and in numbers.
#pragma once // internal

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/nn/models/description.hpp>

namespace chalkgrad::nn {

/// An extent that knows its formula: a number times letters, "2f" or "Hh". The value is the product.
struct Extent {
    std::int64_t value = 1;
    std::int64_t factor = 1; ///< the number in front
    std::string letters;     ///< one character each
};

struct ModelTensor {
    std::string name;           ///< "q.weight"; within a block without its path
    std::string_view component; ///< a name of the ledger: "attn", "block_norm", …
    std::vector<Extent> shape;
    bool routed = false; ///< the first axis counts experts, of which a token uses some
};

/// A table that a checkpoint may store again, and numbers that no gradient reaches.
struct TiedTensor {
    std::string name;
    std::int64_t elements;
};
struct Buffer {
    std::string name;
    std::int64_t elements;
};

struct BlockTensors {
    std::string path; ///< "model.layers.0"
    std::vector<ModelTensor> tensors;
    std::int64_t copies = 1; ///< layers with these very tensors; `path` is the first
};

/// A letter of the formulas and what it stands for.
struct Letter {
    char letter;
    std::string_view meaning;
    std::int64_t value;
};

struct ModelTensors {
    std::vector<ModelTensor> outer; ///< embeddings, last norm, head, towers
    std::vector<BlockTensors> blocks;
    std::vector<TiedTensor> aliases;
    std::vector<Buffer> buffers;
    std::vector<Letter> letters;
};

/// Throws Error where a tensor has more than 2^63 elements.
ModelTensors tensors_of(const ModelDescription& model);

/// The tensors of one layer.
std::vector<ModelTensor> block_tensors(const ModelDescription& model, const StackFacts& stack, const LayerFacts& layer);

/// Elements of a tensor. Throws Error beyond 2^63.
std::int64_t elements(const ModelTensor& tensor);

/// a·b and a+b. Throw Error beyond 2^63, naming `what`.
std::int64_t checked_product(std::int64_t a, std::int64_t b, std::string_view what);
std::int64_t checked_sum(std::int64_t a, std::int64_t b, std::string_view what);

} // namespace chalkgrad::nn
