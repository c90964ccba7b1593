// A checkpoint's weights in the modules of its model, left in the file until they are used; and the model run on them.
//     nn::Checkpoint model = nn::load_checkpoint("SmolLM2-135M");   // config.json, model.safetensors
//     const Array<double> y = model.logits<double>(ids);            // or float, half, bfloat16
//     nn::Block& block = model.blocks()[3];
//     nn::BlockOptions changed = block.options;
//     changed.norm.eps = 1e-2;
//     block = nn::rebuilt(block, changed);                          // the same weights in a changed block
// With gradients, all on one tape: model.model(on, ids), as any module.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <chalkgrad/nn/models/build.hpp>

namespace chalkgrad::nn {

struct Checkpoint {
    std::filesystem::path folder;
    Model model;
    std::size_t context = 0; ///< tokens that the config allows; 0: it does not say

    std::vector<Block>& blocks() { return model.parts[0].stack.blocks; }
    const std::vector<Block>& blocks() const { return model.parts[0].stack.blocks; }
    Norm& final_norm() { return model.parts[0].stack.final; }
    const Norm& final_norm() const { return model.parts[0].stack.final; }
    /// How many numbers are learned.
    std::size_t parameters() const;

    /// Throws Error for no ids, ids outside the vocabulary, and more of them than `context`.
    void check(const Array<std::int64_t>& ids) const;
    /// The residual stream (T, d): as embedded, then after each block. One block is on a tape at a time.
    template <class T> std::vector<Array<T>> streams(const Array<std::int64_t>& ids) const;
    /// Scores (T, vocabulary) if final norm and head read this stream: of the last one the model's, of earlier ones a logit lens.
    template <class T> Array<T> read_out(const Array<T>& stream) const;
    /// Scores (T, vocabulary) of the next token.
    template <class T> Array<T> logits(const Array<std::int64_t>& ids) const {
        return read_out(streams<T>(ids).back());
    }
};

/// Opens the checkpoint in a folder: config.json, and model.safetensors or the shards of its index. Throws Error for what is
/// missing, damaged or of another kind; for tensors that the model has no place for, and parameters that no tensor fills.
Checkpoint load_checkpoint(const std::filesystem::path& folder);
/// The same from memory: the text of config.json, and the bytes of model.safetensors, which must outlive the checkpoint.
Checkpoint load_checkpoint(const std::string& config, std::span<const std::byte> weights);

} // namespace chalkgrad::nn
