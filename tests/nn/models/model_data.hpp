// The models of tests/data/models: each config.json with what is known of its block and its counts.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>

namespace chalkgrad::testing {

inline const nlohmann::json& known_models() {
    static const nlohmann::json models =
        nlohmann::json::parse(read_file(CHALKGRAD_SOURCE_DIR "/tests/data/models/models.json"));
    return models;
}

/// The config of that name; a copy to change.
inline nlohmann::json config_of(const std::string& name) {
    for (const nlohmann::json& model : known_models())
        if (model["name"] == name) return model["config"];
    throw std::out_of_range(name);
}

} // namespace chalkgrad::testing
