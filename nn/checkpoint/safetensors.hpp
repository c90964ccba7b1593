// Files of tensors as Hugging Face stores them (model.safetensors): mapped into memory, checked before anything is believed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <chalkgrad/autograd/base/shape.hpp>

namespace chalkgrad::nn {

/// A tensor that lies in a file. Its numbers are read when they are asked for, and only then.
struct FileTensor {
    std::string name, type; ///< "BF16", as the file says
    Shape shape;
    std::string file; ///< its name, for messages
    const std::byte* data = nullptr;
    std::shared_ptr<const void> mapping; ///< keeps `data` good

    /// Whether it holds numbers that can be read: F64, F32, F16 or BF16.
    bool is_real() const;
    std::size_t bytes() const;
    /// Elements first … first + count − 1, widened exactly.
    void read(std::size_t first, std::size_t count, double* to) const;
};

/// The tensors of a file, in the order of their names. Throws Error for a file that is no regular one, is cut short, whose header
/// is no JSON or names a tensor twice, for unknown types, shapes that do not fit their bytes, and bytes that belong to two
/// tensors or to none.
std::vector<FileTensor> read_safetensors(const std::filesystem::path& path);
/// The same of bytes in memory, which `mapping` keeps or which outlive the tensors; messages call them `path`.
std::vector<FileTensor> read_safetensors(std::span<const std::byte> bytes, const std::filesystem::path& path,
    const std::shared_ptr<const void>& mapping = {});

/// Those of a checkpoint's folder: of model.safetensors, or of the shards that model.safetensors.index.json names. Throws Error
/// for a shard that is missing or lies outside the folder, and where index and shards disagree.
std::vector<FileTensor> read_safetensors_folder(const std::filesystem::path& folder);

} // namespace chalkgrad::nn
