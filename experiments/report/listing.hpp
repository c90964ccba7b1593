// C++ code as words, and as coloured HTML.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace chalkgrad {

/// Hands over the code in pieces, from first to last: a word (kind 'w', a keyword 'k'), a number ('n'), a comment ('c'), a
/// string ('s'), a preprocessor line ('p'), or one other character (0).
void scan_code(std::string_view code, const std::function<void(std::string_view piece, char kind)>& piece);

/// The code escaped for HTML, with comments, strings, numbers, preprocessor lines and keywords in <span
/// class="c|s|n|p|k">.
std::string listing_html(std::string_view code);

} // namespace chalkgrad
