// Files of the source tree, compiled in: what pages show (listings, derivations, style sheets), tables of data, a trained model.
#pragma once

#include <string_view>
#include <utility>

namespace chalkgrad {

/// The file of that path in the source tree, "experiments/course/forward_scale.cpp" or "docs/derivations/rms_norm.md"; empty
/// when it is not among those that CMakeLists.txt embeds.
std::string_view embedded(std::string_view path);

} // namespace chalkgrad
