// Stored tensors as the numbers of a model's parameters.
#pragma once // internal

#include <string>
#include <vector>

#include <chalkgrad/nn/checkpoint/names.hpp>
#include <chalkgrad/nn/checkpoint/safetensors.hpp>
#include <chalkgrad/nn/models/build.hpp>

namespace chalkgrad::nn {

/// Gives every parameter of the model its place in the stored tensors. Throws Error where one is left over on either side, and for
/// shapes that differ; `whose` begins it.
void fill(const Model& model, const std::vector<FileTensor>& tensors, const std::string& whose, bool quantized);

} // namespace chalkgrad::nn
