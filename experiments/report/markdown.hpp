// Markdown as HTML, for the derivations that pages show.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace chalkgrad {

/// CommonMark with tables; headings are one `level` deeper than `#` says. `link` says where a target leads; for an empty
/// answer the words stay without a link. A formula between $ or $$ becomes an element <x-equation>, with type="display"
/// for $$, which the script typeset.js has typeset. Text is escaped, also what looks like HTML.
std::string markdown_html(
    std::string_view markdown, int level, const std::function<std::string(std::string_view)>& link);

} // namespace chalkgrad
