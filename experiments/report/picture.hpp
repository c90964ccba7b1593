// What graphs and plots share: the program that draws, formats, the font, and text fit for a label.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalkgrad {

/// In Debian's fonts-dejavu-core, which Graphviz and gnuplot pull in; the fallbacks are for viewers that lack it.
inline constexpr std::string_view picture_font = "DejaVu Sans";
inline constexpr std::string_view picture_fonts = "DejaVu Sans,Verdana,sans-serif";

/// Throws Error unless `format` is one of `known`; names them.
void require_format(std::string_view function, std::string_view format, std::initializer_list<std::string_view> known);

/// `text` as valid UTF-8 on one line: bytes that are none become U+FFFD, line breaks and other control characters a
/// space.
std::string one_line(std::string_view text);

/// `text` with every `from` replaced.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

/// What a program of Debian's `package` draws on its standard output when it reads `input`; nothing if it takes more than
/// so many seconds. Dates in a PDF are a fixed day, so that two runs give equal bytes. Throws Error, which begins with
/// `who`, when the program is absent, fails, says one of `complaints` on standard error, or draws anything else than one
/// whole picture of the format.
std::optional<std::string> drawn_by(std::string_view who, std::string_view package,
    const std::vector<std::string>& command, std::string_view input, std::string_view format, double seconds,
    std::initializer_list<std::string_view> complaints = {});

} // namespace chalkgrad
