// Markdown as HTML: as much of it as the derivations use.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace chalkgrad {

/// Headings (one `level` deeper than `#` says), paragraphs, lists of `*`, `-` and numbers, tables, code, `code`,
/// **bold**, *emphasis*, [links](target), and formulas between $ and $$ as MathML. `link` says where a target leads;
/// for an empty answer the words stay without a link. Text is escaped.
std::string markdown_html(
    std::string_view markdown, int level, const std::function<std::string(std::string_view)>& link);

} // namespace chalkgrad
