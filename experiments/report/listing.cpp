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

struct Token {
    std::size_t size;
    char kind; ///< a class of the page's style sheet, or 0
};

Token next_token(std::string_view code, bool line_begins) {
    const char c = code[0];
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
    return {end, keyword ? 'k' : '\0'};
}

} // namespace

std::string listing_html(std::string_view code) {
    std::string html;
    bool line_begins = true;
    while (!code.empty()) {
        const Token token = next_token(code, line_begins);
        const std::string text = xml_text(code.substr(0, token.size));
        html += token.kind == 0 ? text : fmt::format("<span class=\"{}\">{}</span>", token.kind, text);
        line_begins = code[token.size - 1] == '\n' || (line_begins && code[0] == ' ');
        code.remove_prefix(token.size);
    }
    return html;
}

} // namespace chalkgrad
