// Reading a model's config.json: from JSON to the facts.
#pragma once

#include <string_view>

#include <chalkgrad/nn/models/description.hpp>

namespace chalkgrad::nn {

/// The facts of the model that this config.json describes; the table of model_types.hpp says what each field means.
/// OpenAI's own schema of gpt-oss, which names no model_type, is recognised by its fields. A wrapper (`text_config` and
/// `vision_config`) is read in both parts. Throws Error for text that is no config, an unknown model_type, and fields
/// that are missing, of the wrong type, impossible or contradictory.
ModelDescription read_model_config(std::string_view json);

} // namespace chalkgrad::nn
