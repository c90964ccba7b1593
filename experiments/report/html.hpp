// What pages are made of: text, Markdown and C++ as HTML, drawings in a page, and KaTeX for their formulas.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace chalkgrad {

/// `text` escaped for XML content; as one line.
std::string xml_text(std::string_view text);
std::string xml_line(std::string_view text);

/// The text with every `open` NAME `close` replaced by what `part` gives for the name; that is not looked at again.
std::string filled(std::string_view text, std::string_view open, std::string_view close,
    const std::function<std::string(std::string_view name)>& part);

/// The <svg> element of a file made by gnuplot or Graphviz, without what stands before it. Every id in it, and every
/// reference to one, begins with `prefix`, so that several drawings can share a page. Throws Error when there is no
/// <svg> element.
std::string inline_svg(std::string_view svg, std::string_view prefix);

/// CommonMark with tables; headings are one `level` deeper than `#` says. `link` says where a target leads; for an empty
/// answer the words stay without a link. A formula between $ or $$ becomes an element <x-equation>, with type="display"
/// for $$, which the script typeset.js has typeset. Text is escaped, also what looks like HTML.
std::string markdown_html(
    std::string_view markdown, int level, const std::function<std::string(std::string_view)>& link);

/// Hands over the code in pieces, from first to last: a word (kind 'w', a keyword 'k'), a number ('n'), a comment ('c'), a
/// string ('s'), a preprocessor line ('p'), or one other character (0).
void scan_code(std::string_view code, const std::function<void(std::string_view piece, char kind)>& piece);

/// C++ code escaped, with comments, strings, numbers, preprocessor lines and keywords in <span class="c|s|n|p|k">.
std::string listing_html(std::string_view code);

/// KaTeX from Debian's libjs-katex and fonts-katex, to be put into a page.
struct Katex {
    std::string script; ///< JavaScript that defines `katex`
    std::string style;  ///< CSS with its fonts inside, as data URIs
};

/// Where Debian puts it; the environment variable CHALKGRAD_KATEX names another folder of the same form.
std::filesystem::path katex_folder();

/// Read from `folder`, which holds katex.min.js, katex.min.css and fonts/*.woff2; nothing when it is not there. Throws
/// Error for a folder that lacks a part, and for a text that could end the element it is put into.
std::optional<Katex> read_katex(const std::filesystem::path& folder);

/// The licence that has to stand in a page with KaTeX, as a comment of HTML.
std::string katex_licence();

/// The bytes in base64 (RFC 4648).
std::string base64(std::string_view bytes);

} // namespace chalkgrad
