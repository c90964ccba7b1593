// What graphs and plots share: formats, text fit for a label, and bytes that do not depend on the clock.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/utf8.hpp>
#include <chalkgrad/experiments/report/picture.hpp>

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace chalkgrad {
void require_format(std::string_view function, std::string_view format, std::initializer_list<std::string_view> known) {
    if (std::find(known.begin(), known.end(), format) == known.end())
        throw Error(fmt::format("{}: unknown format '{}'; use one of {}", function, format, fmt::join(known, ", ")));
}

std::string one_line(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t n = utf8_length(text);
        const bool control = static_cast<std::uint8_t>(text[0]) < 0x20 || text[0] == 0x7F;
        if (n == 0) out += "\uFFFD";
        else if (control) out += ' ';
        else out += text.substr(0, n);
        text.remove_prefix(std::max<std::size_t>(n, 1));
    }
    return out;
}

std::string xml_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '&') out += "&amp;";
        else if (c == '<') out += "&lt;";
        else if (c == '>') out += "&gt;";
        else out += c;
    }
    return out;
}

std::string xml_line(std::string_view text) { return xml_text(one_line(text)); }

void remove_pdf_dates(std::string& pdf) {
    constexpr std::string_view day = "20000101000000";
    for (const std::string_view mark : {"/CreationDate (D:", "/ModDate (D:"})
        for (std::size_t at = pdf.find(mark); at != std::string::npos; at = pdf.find(mark, at + 1))
            if (at + mark.size() + day.size() <= pdf.size()) pdf.replace(at + mark.size(), day.size(), day);
}

} // namespace chalkgrad
