// What graphs and plots share: formats, the font, text fit for a label, and bytes that do not depend on the clock.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace chalkgrad {

/// In Debian's fonts-dejavu-core, which Graphviz and gnuplot pull in; the fallbacks are for viewers that lack it.
inline constexpr std::string_view picture_font = "DejaVu Sans";
inline constexpr std::string_view picture_fonts = "DejaVu Sans,Verdana,sans-serif";

/// Throws Error unless `format` is one of `known`; names them.
void require_format(std::string_view function, std::string_view format, std::initializer_list<std::string_view> known);

/// `text` as valid UTF-8 on one line: bytes that are none become U+FFFD, line breaks and other control characters a
/// space.
std::string one_line(std::string_view text);

/// `text` escaped for XML content.
std::string xml_text(std::string_view text);
/// The same as one line.
std::string xml_line(std::string_view text);

/// Sets the dates of creation and change in a PDF to a fixed day, in place, so that two runs give equal bytes.
void remove_pdf_dates(std::string& pdf);

} // namespace chalkgrad
