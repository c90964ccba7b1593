// C++ code as coloured HTML.
#pragma once

#include <string>
#include <string_view>

namespace chalkgrad {

/// The code escaped for HTML, with comments, strings, numbers, preprocessor lines and keywords in <span
/// class="c|s|n|p|k">.
std::string listing_html(std::string_view code);

} // namespace chalkgrad
