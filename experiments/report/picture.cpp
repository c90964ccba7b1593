// Pictures: the program that draws, what is refused of its work, formats, text fit for a label; and what `dot` is told.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/text.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/process.hpp>
#include <chalkgrad/experiments/report/render.hpp>

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

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from)) {
        out.append(text.substr(0, at)).append(to);
        text.remove_prefix(at + from.size());
    }
    return out.append(text);
}

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

std::string render_dot(std::string_view dot, std::string_view format) {
    constexpr double patience = 120;
    if (auto picture = render_dot_within(dot, format, patience)) return *std::move(picture);
    throw Error(fmt::format("render_dot: dot was not done after {} seconds; draw a smaller graph", patience));
}

std::optional<std::string> render_dot_within(std::string_view dot, std::string_view format, double seconds) {
    require_format("render_dot", format, {"svg", "pdf", "png", "plain", "json", "dot"});
    if (dot.find('\0') != dot.npos)
        throw Error("render_dot: the DOT text holds a NUL byte; escape or drop it in the label it comes from");
    std::vector<std::string> command{"dot", fmt::format("-T{}", format)};
    const auto unless_said = [&](std::string_view attribute, std::string_view value, std::string_view parts) {
        if (dot.find(attribute) != dot.npos) return; // what a command says outdoes what the text says
        for (const char part : parts) command.push_back(fmt::format("-{}{}={}", part, attribute, value));
    };
    unless_said("fontname", picture_fonts, "GNE");
    if (format == "png") unless_said("dpi", "144", "G");
    // Above about a thousand boxes network simplex may take minutes; two rounds give nearly the same picture.
    if (std::count(dot.begin(), dot.end(), '\n') > 2000)
        for (const char* const limit : {"nslimit", "nslimit1"}) unless_said(limit, "2", "G");
    return drawn_by("render_dot", "graphviz", command, dot, format, seconds, {"Warning: ", "dot: "});
}

} // namespace chalkgrad
