// Names near a mistyped one, for error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chalkgrad {

/// Up to three of `names` that are close to `word`: few letters apart (insert, drop, change, or swap two neighbours),
/// or one holding the other. Nearest first; ties keep the order of `names`.
std::vector<std::string> close_names(std::string_view word, const std::vector<std::string>& names);

/// "; did you mean a, b?" or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace chalkgrad
