// What each family of models calls its tensors: data, no code.
#pragma once // internal

#include <string_view>
#include <vector>

namespace chalkgrad::nn {

/// How a module's tensor lies in the stored one.
enum class Part {
    whole,
    packed, ///< queries, keys and values one after the other
    grouped ///< for each key head in turn its queries, its key, its value (GPT-NeoX, Falcon)
};

struct TensorName {
    std::string_view ours; ///< a matrix or norm of nn::Model; in a layer without "layers.3."
    std::string_view
        theirs; ///< without the model's own prefix; * is the layer, # an expert or head. A / in front: beside the model
    Part part = Part::whole;
    bool as_stored = false; ///< a matrix (in, out), as here; else (out, in)
    std::string_view weight = ".weight", bias = ".bias";
};

struct TensorNames {
    std::vector<std::string_view> types; ///< model types
    std::vector<TensorName> names;       ///< of two with the same `ours` the one that is there
};

/// Of a model_type. Throws Error for one whose checkpoints are not read, naming those that are.
const TensorNames& tensor_names(std::string_view model_type);

/// All model types whose checkpoints are read.
std::vector<std::string_view> checkpoint_types();

/// Whether a stored tensor of that name is no parameter: a mask, or the frequencies of the angles.
bool is_buffer(std::string_view name);

} // namespace chalkgrad::nn
