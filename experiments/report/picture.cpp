// What graphs and plots share: the program that draws, formats, and text fit for a label.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/text.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/process.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace chalkgrad {
namespace {

/// Sets the dates of creation and change to a fixed day.
void remove_pdf_dates(std::string& pdf) {
    constexpr std::string_view day = "20000101000000";
    for (const std::string_view mark : {"/CreationDate (D:", "/ModDate (D:"})
        for (std::size_t at = pdf.find(mark); at != std::string::npos; at = pdf.find(mark, at + 1))
            if (at + mark.size() + day.size() <= pdf.size()) pdf.replace(at + mark.size(), day.size(), day);
}

/// What is wrong with a picture that should end with its format's mark, and hold it once; empty if nothing is.
std::string flaw_of(std::string_view picture, std::string_view format) {
    const std::string_view mark = format == "svg"     ? "</svg>"
                                  : format == "pdf"   ? "%%EOF"
                                  : format == "png"   ? "IEND\xAE\x42\x60\x82"
                                  : format == "plain" ? "\nstop\n"
                                                      : "\n}\n";
    if (picture.empty()) return "it draws nothing; is there a graph in the text, and space in the temporary folder?";
    const std::size_t at = picture.find(mark);
    if (at == picture.npos) return "what it wrote is cut short; free some space in the temporary folder";
    return at + mark.size() + 2 < picture.size() ? "it draws more than one graph" : "";
}

} // namespace

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

std::optional<std::string> drawn_by(std::string_view who, std::string_view package,
    const std::vector<std::string>& command, std::string_view input, std::string_view format, double seconds,
    std::initializer_list<std::string_view> complaints) {
    std::vector<std::string> limited{"timeout", "--foreground", fmt::format("{}", seconds)};
    limited.insert(limited.end(), command.begin(), command.end());
    Ended ended = run_program(limited, input);
    if (!ended.failure.empty() || ended.status == 127)
        throw Error(fmt::format(
            "{0}: {1} cannot be started; install Debian's {2} (apt-get install {2})", who, command[0], package));
    if (ended.status == 124) return {};
    std::string why = one_line(ended.err);
    why.erase(why.find_last_not_of(' ') + 1);
    const auto says = [&](std::string_view words) { return why.find(words) != why.npos; };
    if (ended.status == 0 && std::none_of(complaints.begin(), complaints.end(), says)) why = flaw_of(ended.out, format);
    else if (says("too large for cairo")) why += "; use svg or pdf"; // it would be made smaller
    else if (why.empty())
        why = ended.status < 0 ? fmt::format("it ended by a signal: {}", strsignal(-ended.status))
                               : fmt::format("it ended with status {}", ended.status);
    if (!why.empty()) throw Error(fmt::format("{}: {} gave no whole {} picture: {}", who, command[0], format, why));
    if (format == "pdf") remove_pdf_dates(ended.out);
    return std::move(ended.out);
}

std::string inline_svg(std::string_view svg, std::string_view prefix) {
    const std::size_t begin = svg.find("<svg"), end = svg.rfind("</svg>");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
        throw Error("inline_svg: the text holds no whole <svg> element; give what gnuplot or Graphviz wrote");
    svg = svg.substr(begin, end + 6 - begin);

    // Only inside tags: a label may well read id="x".
    constexpr std::string_view before_id[] = {" id=\"", " id='", "href=\"#", "href='#", "url(#"};
    std::string out;
    out.reserve(svg.size() + svg.size() / 16);
    bool in_tag = false;
    while (!svg.empty()) {
        in_tag = svg[0] == '<' || (in_tag && svg[0] != '>');
        std::size_t taken = 1;
        bool names_id = false;
        for (const std::string_view mark : before_id)
            if (in_tag && svg.starts_with(mark)) {
                taken = mark.size();
                names_id = true;
            }
        out += svg.substr(0, taken);
        if (names_id) out += prefix;
        svg.remove_prefix(taken);
    }
    return out;
}

} // namespace chalkgrad
