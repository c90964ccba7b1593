// KaTeX from Debian's libjs-katex and fonts-katex, to be put into a page.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace chalkgrad {

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
