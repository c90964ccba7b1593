// Text, Markdown (by md4c), C++ and drawings as parts of a page; KaTeX as two texts: its script, and its style with fonts.
#include <chalkgrad/experiments/report/html.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>
#include <md4c-html.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/picture.hpp>

namespace chalkgrad {
namespace fs = std::filesystem;

// ---- text and drawings

std::string xml_text(std::string_view text) {
    return replaced(replaced(replaced(text, "&", "&amp;"), "<", "&lt;"), ">", "&gt;");
}

std::string xml_line(std::string_view text) { return xml_text(one_line(text)); }

std::string filled(std::string_view text, std::string_view open, std::string_view close,
    const std::function<std::string(std::string_view)>& part) {
    std::string out;
    for (;;) {
        const std::size_t begin = text.find(open), name = begin + open.size(), end = text.find(close, begin);
        if (end == text.npos) return out += text;
        out += text.substr(0, begin);
        out += part(text.substr(name, end - name));
        text.remove_prefix(end + close.size());
    }
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
        const auto begins = [&](std::string_view mark) { return in_tag && svg.starts_with(mark); };
        const auto mark = std::find_if(std::begin(before_id), std::end(before_id), begins);
        const std::size_t taken = mark == std::end(before_id) ? 1 : mark->size();
        out += svg.substr(0, taken);
        if (mark != std::end(before_id)) out += prefix;
        svg.remove_prefix(taken);
    }
    return out;
}

// ---- Markdown: what md4c's HTML lacks are deeper headings, links of the page, and tables that scroll

std::string markdown_html(
    std::string_view markdown, int level, const std::function<std::string(std::string_view)>& link) {
    std::string html;
    const auto append = [](const MD_CHAR* text, MD_SIZE size, void* out) {
        static_cast<std::string*>(out)->append(text, size);
    };
    if (md_html(markdown.data(), static_cast<MD_SIZE>(markdown.size()), append, &html,
            MD_FLAG_TABLES | MD_FLAG_LATEXMATHSPANS | MD_FLAG_NOHTML, 0) != 0)
        throw Error("markdown: md4c ran out of memory");
    for (int deep = 6; deep >= 1; --deep)
        for (const char* const tag : {"<h{}>", "</h{}>"})
            html = replaced(
                html, fmt::format(fmt::runtime(tag), deep), fmt::format(fmt::runtime(tag), std::min(deep + level, 6)));
    html = replaced(html, "<table>", "<div class=\"scroll\"><table>");
    html = replaced(html, "</table>", "</table></div>");
    html = replaced(html, "<th>", "<th scope=\"col\">");
    constexpr std::string_view open = "<a href=\"";
    for (std::size_t at = html.find(open); at != html.npos; at = html.find(open, at)) {
        const std::size_t begin = at + open.size(), end = html.find('"', begin);
        const std::string target = link(std::string_view(html).substr(begin, end - begin));
        if (target.empty()) {
            html.erase(html.find("</a>", end), 4);
            html.erase(at, html.find('>', end) + 1 - at);
        } else {
            html.replace(begin, end - begin, target);
            at = begin;
        }
    }
    return html;
}

// ---- C++: a scanner that knows where a word, a comment or a string ends, and nothing of the grammar

namespace {

constexpr std::string_view keywords[] = {"auto", "bool", "case", "char", "const", "constexpr", "else", "enum", "false",
    "float", "for", "if", "int", "namespace", "operator", "return", "size_t", "static", "struct", "switch", "template",
    "true", "typename", "using", "void", "while", "double", "long", "unsigned"};

bool in_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// The end of a quoted text that begins at 0, past its closing quote.
std::size_t after_quote(std::string_view code) {
    std::size_t end = 1;
    while (end < code.size() && code[end] != code[0] && code[end] != '\n') end += code[end] == '\\' ? 2 : 1;
    return std::min(end + 1, code.size());
}

struct Piece {
    std::size_t size;
    char kind;
};

Piece first_piece(std::string_view code, bool line_begins) {
    const char c = code[0];
    if (code.starts_with("/*")) return {std::min(code.find("*/", 2), code.size() - 2) + 2, 'c'};
    if (code.starts_with("//") || (line_begins && c == '#'))
        return {std::min(code.find('\n'), code.size()), c == '#' ? 'p' : 'c'};
    if (c == '"' || c == '\'') return {after_quote(code), 's'};
    if (!in_word(c)) return {1, 0};
    const bool number = c >= '0' && c <= '9';
    // A number takes in its point, its exponent's sign and the quotes between its digits.
    const auto goes_on = [&](std::size_t i) {
        return in_word(code[i]) || (number && (code[i] == '.' || code[i] == '\'' ||
                                                  ((code[i] == '-' || code[i] == '+') && (code[i - 1] | 0x20) == 'e')));
    };
    std::size_t end = 1;
    while (end < code.size() && goes_on(end)) ++end;
    if (number) return {end, 'n'};
    const bool keyword = std::find(std::begin(keywords), std::end(keywords), code.substr(0, end)) != std::end(keywords);
    return {end, keyword ? 'k' : 'w'};
}

} // namespace

void scan_code(std::string_view code, const std::function<void(std::string_view, char)>& piece) {
    bool line_begins = true;
    while (!code.empty()) {
        const auto [size, kind] = first_piece(code, line_begins);
        piece(code.substr(0, size), kind);
        line_begins = code[size - 1] == '\n' || (line_begins && code[0] == ' ');
        code.remove_prefix(size);
    }
}

std::string listing_html(std::string_view code) {
    std::string html;
    scan_code(code, [&](std::string_view piece, char kind) {
        const std::string text = xml_text(piece);
        html += kind == 0 || kind == 'w' ? text : fmt::format("<span class=\"{}\">{}</span>", kind, text);
    });
    return html;
}

// ---- KaTeX

namespace {

/// Every `src:` of the style names a font as woff2, woff and ttf. The first is enough, and goes inside.
std::string with_fonts_inside(const std::string& css, const fs::path& folder) {
    constexpr std::string_view source = "src:url(";
    std::string out;
    std::size_t at = 0;
    for (std::size_t begin = css.find(source); begin != css.npos; begin = css.find(source, at)) {
        const std::size_t name = begin + source.size(), name_end = css.find(')', name),
                          end = css.find_first_of(";}", begin);
        if (name_end == css.npos || end == css.npos)
            throw Error("katex: katex.min.css has a font without an end; install Debian's libjs-katex again");
        const std::string font = read_file(folder / css.substr(name, name_end - name));
        out += css.substr(at, begin - at) +
               fmt::format("src:url(data:font/woff2;base64,{}) format('woff2')", base64(font));
        at = end;
    }
    return out + css.substr(at);
}

} // namespace

std::string base64(std::string_view bytes) {
    constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t word = 0;
        for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < n ? static_cast<std::uint8_t>(bytes[i + k]) : 0u);
        for (std::size_t k = 0; k < 4; ++k) out += k <= n ? digits[word >> (18 - 6 * k) & 63] : '=';
    }
    return out;
}

std::string katex_licence() { return fmt::format("<!--\n{}-->\n", embedded("experiments/report/katex-licence.txt")); }

fs::path katex_folder() {
    const char* const given = std::getenv("CHALKGRAD_KATEX");
    return given != nullptr && *given != '\0' ? given : "/usr/share/javascript/katex";
}

std::optional<Katex> read_katex(const fs::path& folder) {
    std::error_code none;
    if (!fs::exists(folder / "katex.min.js", none)) return {};
    Katex katex{read_file(folder / "katex.min.js"), with_fonts_inside(read_file(folder / "katex.min.css"), folder)};
    if (katex.script.find("</script") != std::string::npos || katex.style.find("</style") != std::string::npos)
        throw Error(
            fmt::format("katex: KaTeX in {} holds an end tag and cannot stand in a page; install Debian's libjs-katex",
                folder.string()));
    return katex;
}

} // namespace chalkgrad
