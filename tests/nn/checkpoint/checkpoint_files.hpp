// Checkpoints that tests write: a config, and tensors by name.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/nn/checkpoint/safetensors.hpp>

namespace chalkgrad::testing {

inline const std::filesystem::path checkpoints = CHALKGRAD_SOURCE_DIR "/tests/data/checkpoints";

/// A folder of its own, gone with the object.
struct TemporaryFolder {
    std::filesystem::path path;
    TemporaryFolder() {
        static int count = 0;
        path = std::filesystem::temp_directory_path() /
               ("chalkgrad-checkpoint-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
        std::filesystem::create_directories(path);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

struct Numbers {
    std::vector<std::size_t> shape;
    std::vector<double> values;
    std::string type = "F32";
};
using Tensors = std::map<std::string, Numbers>;

/// What a file holds.
inline Tensors tensors_in(const std::filesystem::path& folder) {
    Tensors tensors;
    for (const nn::FileTensor& stored : nn::read_safetensors_folder(folder)) {
        Numbers numbers{std::vector<std::size_t>(stored.shape.begin(), stored.shape.end()),
            std::vector<double>(stored.shape.size()), stored.type};
        stored.read(0, stored.shape.size(), numbers.values.data());
        tensors[stored.name] = numbers;
    }
    return tensors;
}

/// Eight bytes, a header, the numbers.
inline std::string framed(const std::string& header, const std::string& data) {
    const std::uint64_t length = header.size();
    std::string bytes(sizeof(length), '\0');
    std::memcpy(bytes.data(), &length, sizeof(length));
    return bytes + header + data;
}

inline std::string safetensors(const Tensors& tensors) {
    nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
    std::string data;
    for (const auto& [name, numbers] : tensors) {
        const std::size_t begin = data.size();
        const auto append = [&]<class T>(T number) { data.append(reinterpret_cast<const char*>(&number), sizeof(T)); };
        for (const double value : numbers.values) {
            if (numbers.type == "F64") append(value);
            else if (numbers.type == "F32") append(static_cast<float>(value));
            else if (numbers.type == "F16") append(static_cast<half>(value));
            else if (numbers.type == "BF16") append(static_cast<bfloat16>(value));
            else append(static_cast<std::uint8_t>(value));
        }
        header[name] = {{"dtype", numbers.type}, {"shape", numbers.shape}, {"data_offsets", {begin, data.size()}}};
    }
    return framed(header.dump(), data);
}

inline void write_checkpoint(
    const std::filesystem::path& folder, const nlohmann::json& config, const Tensors& tensors) {
    write_file(folder / "config.json", config.dump());
    write_file(folder / "model.safetensors", safetensors(tensors));
}

inline nlohmann::json json_in(const std::filesystem::path& path) { return nlohmann::json::parse(read_file(path)); }

} // namespace chalkgrad::testing
