// The tensors of an image encoder beside a language model.
#pragma once // internal

#include <cstdint>
#include <vector>

#include <chalkgrad/nn/models/tensors.hpp>

namespace chalkgrad::nn {

/// Appends the tower ("vision") and what joins it to a language model of `text_width` features ("projector").
void add_vision_tensors(const VisionFacts& vision, std::int64_t text_width, std::vector<ModelTensor>& to);

} // namespace chalkgrad::nn
