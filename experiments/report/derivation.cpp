// Reading what a derivation page states.
#include <chalkgrad/experiments/report/derivation.hpp>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/text.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/plain_formula.hpp>

namespace chalkgrad {
namespace {

/// What stands before `mark`; text goes on behind it.
std::string_view cut(std::string_view& text, std::string_view mark) {
    const std::string_view before = text.substr(0, text.find(mark));
    text.remove_prefix(std::min(before.size() + mark.size(), text.size()));
    return before;
}

/// Without blanks and a closing comma or full stop: the formula stands alone.
std::string_view trimmed(std::string_view latex) {
    latex.remove_prefix(std::min(latex.find_first_not_of(" \n"), latex.size()));
    return latex.substr(0, latex.find_last_not_of(" \n.,;") + 1);
}

/// Words with formulas between dollar signs as one formula with words in it.
std::string displayed(std::string_view line) {
    std::string latex;
    for (bool formula = false; !line.empty(); formula = !formula) {
        const std::string_view part = cut(line, "$");
        latex += formula || part.empty() ? std::string(part) : fmt::format("\\text{{{}}}", part);
    }
    return latex;
}

/// "γ̄ = Σ ȳ n" with g in front of what has a bar: "gγ = Σ gy n".
std::string with_g(std::string_view plain) {
    constexpr std::string_view bar = "\u0304";
    std::string out;
    while (!plain.empty()) {
        const std::string_view letter = plain.substr(0, std::max<std::size_t>(utf8_length(plain), 1));
        plain.remove_prefix(letter.size());
        if (plain.starts_with(bar)) {
            plain.remove_prefix(bar.size());
            out += 'g';
        }
        out += letter;
    }
    return out;
}

} // namespace

const Derivation::Gradient* Derivation::gradient(std::string_view input) const {
    const auto found =
        std::find_if(backward.begin(), backward.end(), [&](const Gradient& each) { return each.input == input; });
    return found == backward.end() ? nullptr : &*found;
}

Derivation read_derivation(std::string_view page) {
    Derivation derivation;
    std::string_view head = page.substr(0, page.find("\n## "));
    for (cut(head, "$$"); !head.empty(); cut(head, "$$"))
        for (std::string_view display = cut(head, "$$"); !display.empty();)
            if (const std::string_view piece = trimmed(cut(display, "\\qquad")); !piece.empty())
                derivation.forward.emplace_back(piece);

    cut(page, "\n## Backward\n");
    std::string_view list = cut(page, "\n## ");
    for (cut(list, "* "); !list.empty();) {
        std::string line(trimmed(cut(list, "\n* ")));
        for (std::size_t at = line.find("\n  "); at != line.npos; at = line.find("\n  ")) line.replace(at, 3, " ");
        std::string_view words = line;
        const std::string_view name = cut(words, ": ");
        if (name == "kept") derivation.kept = plain_text(words);
        else if (name.size() > 2)
            derivation.backward.push_back(
                {std::string(name.substr(1, name.size() - 2)), displayed(words), plain_text(words)});
    }
    return derivation;
}

std::string_view derivation_page(std::string_view op) { return embedded(fmt::format("docs/derivations/{}.md", op)); }

const Derivation& derivation_of(std::string_view op) {
    static std::map<std::string, Derivation, std::less<>> read;
    const auto found = read.find(op);
    return found != read.end() ? found->second
                               : read.emplace(std::string(op), read_derivation(derivation_page(op))).first->second;
}

std::string gradient_in_words(std::string_view op, std::string_view input) {
    const Derivation::Gradient* const gradient = derivation_of(op).gradient(input);
    if (gradient == nullptr) throw Error(fmt::format("docs/derivations/{}.md states no gradient of {}", op, input));
    return with_g(gradient->plain);
}

} // namespace chalkgrad
