// Reading formulas from a derivation page.
#include <chalkgrad/experiments/report/derivation.hpp>

#include <algorithm>

namespace chalkgrad {
namespace {

constexpr std::string_view gap = "\\qquad";

bool has_bar(std::string_view tex) { return tex.find("\\bar") != tex.npos || tex.find("\\overline") != tex.npos; }

/// "\bar x = …", or several at once: "(\bar q, \bar k) = …".
bool is_gradient(std::string_view tex) {
    if (tex.starts_with('(')) tex.remove_prefix(1);
    return (tex.starts_with("\\bar") || tex.starts_with("\\overline")) && tex.find('=') != tex.npos;
}

/// Without blanks and a closing comma or full stop: the formula stands alone.
std::string trimmed(std::string_view tex) {
    constexpr std::string_view blanks = " \t\n", ends = " \t\n.,;";
    tex.remove_prefix(std::min(tex.find_first_not_of(blanks), tex.size()));
    tex = tex.substr(0, tex.find_last_not_of(ends) + 1);
    return std::string(tex);
}

/// What stands between $$ and $$, or in lines of text between $ and $.
struct Maths {
    std::vector<std::string> displayed, inlined;
};
Maths maths(std::string_view text) {
    Maths found;
    for (std::size_t at = text.find('$'); at != text.npos; at = text.find('$', at)) {
        const std::string_view mark = text.substr(at).starts_with("$$") ? "$$" : "$";
        const std::size_t begin = at + mark.size(), end = text.find(mark, begin);
        if (end == text.npos) break;
        (mark == "$" ? found.inlined : found.displayed).push_back(trimmed(text.substr(begin, end - begin)));
        at = end + mark.size();
    }
    return found;
}

std::vector<std::string> those(const std::vector<std::string>& formulas, bool (*wanted)(std::string_view)) {
    std::vector<std::string> found;
    std::copy_if(formulas.begin(), formulas.end(), std::back_inserter(found), wanted);
    return found;
}

std::string_view section(std::string_view page, std::string_view heading) {
    const std::size_t begin = page.find(heading);
    if (begin == page.npos) return {};
    page.remove_prefix(begin + heading.size());
    return page.substr(0, page.find("\n## "));
}

} // namespace

OpFormulas formulas_of(std::string_view page) {
    OpFormulas formulas;
    bool gradients = false;
    for (std::string_view rest : maths(page.substr(0, page.find("\n## "))).displayed) {
        while (!rest.empty()) {
            const std::size_t end = rest.find(gap);
            const std::string piece = trimmed(rest.substr(0, end));
            gradients = gradients || has_bar(piece); // what follows a gradient explains it
            if (!piece.empty()) (gradients ? formulas.backward : formulas.forward).push_back(piece);
            rest.remove_prefix(end == rest.npos ? rest.size() : end + gap.size());
        }
    }
    if (gradients) return formulas;
    const Maths by_hand = maths(section(page, "\n## By hand"));
    formulas.backward = those(by_hand.displayed, is_gradient);
    if (formulas.backward.empty()) formulas.backward = those(by_hand.inlined, is_gradient);
    if (formulas.backward.empty()) formulas.backward = by_hand.displayed;
    return formulas;
}

} // namespace chalkgrad
