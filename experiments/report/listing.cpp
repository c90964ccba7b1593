// C++ code as coloured HTML: a scanner that knows where a word, a comment or a string ends, and nothing of the grammar.
#include <chalkgrad/experiments/report/listing.hpp>
#include <chalkgrad/experiments/report/picture.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace chalkgrad {
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

} // namespace chalkgrad
