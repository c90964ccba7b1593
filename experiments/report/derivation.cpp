// Reading what a derivation page states, and its LaTeX as a line of Unicode.
#include <chalkgrad/experiments/report/derivation.hpp>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/text.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/picture.hpp>

namespace chalkgrad {
namespace {

/// What stands before `mark`; text goes on behind it.
std::string_view cut(std::string_view& text, std::string_view mark) {
    const std::string_view before = text.substr(0, text.find(mark));
    text.remove_prefix(std::min(before.size() + mark.size(), text.size()));
    return before;
}

/// The first character of a text that is not empty.
std::string_view first(std::string_view text) { return text.substr(0, std::max<std::size_t>(utf8_length(text), 1)); }

/// Without blanks and a closing comma or full stop: the formula stands alone.
std::string_view trimmed(std::string_view latex) {
    latex.remove_prefix(std::min(latex.find_first_not_of(" \n"), latex.size()));
    return latex.substr(0, latex.find_last_not_of(" \n.,;") + 1);
}

/// A line of text with formulas between dollar signs: what `formula` and `words` make of its parts.
template <class Formula, class Words> std::string by_parts(std::string_view line, Formula formula, Words words) {
    std::string out;
    for (bool in_formula = false; !line.empty(); in_formula = !in_formula) {
        const std::string_view part = cut(line, "$");
        out += in_formula ? formula(part) : words(part);
    }
    return out;
}

/// Words with formulas between dollar signs as one formula with words in it.
std::string displayed(std::string_view line) {
    return by_parts(
        line, [](std::string_view latex) { return std::string(latex); },
        [](std::string_view words) { return words.empty() ? "" : fmt::format("\\text{{{}}}", words); });
}

/// "γ̄ = Σ ȳ n" with g in front of what has a bar: "gγ = Σ gy n".
std::string with_g(std::string_view plain) {
    constexpr std::string_view bar = "\u0304";
    std::string out;
    while (!plain.empty()) {
        const std::string_view letter = first(plain);
        plain.remove_prefix(letter.size());
        if (plain.starts_with(bar)) {
            plain.remove_prefix(bar.size());
            out += 'g';
        }
        out += letter;
    }
    return out;
}

// ---- LaTeX: a recursive descent over the commands of derivations

struct Symbol {
    std::string_view name, text;
};

constexpr Symbol symbols[] = {{"alpha", "α"}, {"beta", "β"}, {"gamma", "γ"}, {"delta", "δ"}, {"varepsilon", "ε"},
    {"theta", "θ"}, {"mu", "μ"}, {"pi", "π"}, {"sigma", "σ"}, {"tau", "τ"}, {"varphi", "φ"}, {"phi", "φ"}, {"Phi", "Φ"},
    {"ell", "ℓ"}, {"infty", "∞"}, {"partial", "∂"}, {"top", "⊤"}, {"cdot", "·"}, {"pm", "±"}, {"le", "≤"}, {"ge", "≥"},
    {"ne", "≠"}, {"to", "→"}, {"times", "×"}, {"in", "∈"}, {"odot", "⊙"}, {"approx", "≈"}, {"gg", "≫"}, {"ll", "≪"},
    {"leftarrow", "←"}, {"dots", "…"}, {"cdots", "⋯"}, {"rangle", "⟩"}, {"lVert", "‖"}, {"rVert", "‖"}, {"lfloor", "⌊"},
    {"rfloor", "⌋"}, {"sum", "Σ"}, {"prod", "∏"}, {"int", "∫"}, {"{", "{"}, {"}", "}"}, {"mid", "|"}, {"|", "‖"},
    {"%", "%"}, {"_", "_"}, {"&", "&"}, {",", " "}, {";", " "}, {":", " "}, {" ", " "}, {"quad", " "}, {"qquad", " "},
    {"\\", " "}, {"!", ""}, {"left", ""}, {"right", ""}, {"big", ""}, {"bigl", ""}, {"bigr", ""}, {"Big", ""},
    {"Bigl", ""}, {"Bigr", ""}, {"textstyle", ""}, {"displaystyle", ""}, {"log", "log"}, {"exp", "exp"}, {"max", "max"},
    {"min", "min"}, {"tanh", "tanh"}, {"sin", "sin"}, {"cos", "cos"}};
constexpr Symbol raised[] = {{"0", "⁰"}, {"1", "¹"}, {"2", "²"}, {"3", "³"}, {"4", "⁴"}, {"−", "⁻"}, {"T", "ᵀ"},
    {"⊤", "ᵀ"}, {"′", "′"}, {"n", "ⁿ"}, {"p", "ᵖ"}, {"x", "ˣ"}, {"y", "ʸ"}, {"k", "ᵏ"}};
constexpr Symbol lowered[] = {{"0", "₀"}, {"1", "₁"}, {"2", "₂"}, {"+", "₊"}, {"i", "ᵢ"}, {"j", "ⱼ"}, {"k", "ₖ"},
    {"l", "ₗ"}, {"n", "ₙ"}, {"r", "ᵣ"}, {"t", "ₜ"}};

template <std::size_t n> const Symbol* find(const Symbol (&table)[n], std::string_view name) {
    for (const Symbol& each : table)
        if (each.name == name) return &each;
    return nullptr;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Brackets around what has several parts.
std::string in_brackets(const std::string& text) { return text.find(' ') == text.npos ? text : "(" + text + ")"; }

/// In small characters above or below the line, if there are such for all of it.
template <std::size_t n> std::string script(const Symbol (&table)[n], std::string_view mark, const std::string& text) {
    std::string out;
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(first(rest).size())) {
        const Symbol* const small = find(table, first(rest));
        if (small == nullptr) return std::string(mark) + in_brackets(text);
        out += small->text;
    }
    return out;
}

class Reader {
public:
    explicit Reader(std::string_view latex) : rest_(latex) {}

    /// Up to the end, or behind the brace that closes this group.
    std::string group() {
        std::string out;
        while (!rest_.empty()) {
            if (rest_[0] == '}') {
                take(1);
                break;
            }
            const std::string next = atom();
            if (next != " " || (!out.empty() && out.back() != ' ')) out += next;
        }
        return out;
    }

private:
    std::string_view take(std::size_t n) {
        const std::string_view taken = rest_.substr(0, n);
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::string argument() {
        while (rest_.starts_with(' ') || rest_.starts_with('\n')) take(1);
        return rest_.empty() ? "" : atom();
    }
    std::string atom() {
        const std::string_view c = take(first(rest_).size());
        if (c == "{") return group();
        if (c == "^") return script(raised, "^", argument());
        if (c == "_") return script(lowered, "_", argument());
        if (c == "\\") return of_command();
        if (c == "\n") return " ";
        return std::string(c == "-" ? "−" : c == "'" ? "′" : c);
    }
    std::string of_command() {
        std::size_t n = 0;
        while (n < rest_.size() && is_letter(rest_[n])) ++n;
        const std::string_view name = take(std::max<std::size_t>(n, 1));
        if (name == "langle") return "⟨" + argument(); // the blank behind it only ends its name
        if (const Symbol* const symbol = find(symbols, name)) return std::string(symbol->text);
        if (name == "bar") return argument() + "\u0304";
        if (name == "hat") return argument() + "\u0302";
        if (name == "frac" || name == "tfrac") {
            const std::string above = argument(), below = argument();
            return above == "1" && below == "2" ? "½" : in_brackets(above) + "/" + in_brackets(below);
        }
        if (name == "sqrt") {
            const std::string inside = argument();
            return "√" + (first(inside).size() == inside.size() ? inside : "(" + inside + ")");
        }
        if (name == "text" || name == "operatorname" || name == "mathrm" || name == "mathsf" || name == "mathbf")
            return argument();
        if (name == "begin" || name == "end") return argument(), "";
        return "\\" + std::string(name);
    }

    std::string_view rest_;
};

} // namespace

std::string plain_formula(std::string_view latex) { return Reader(latex).group(); }

std::string plain_text(std::string_view line) {
    return by_parts(line, plain_formula, [](std::string_view words) { return std::string(words); });
}

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
        const std::string line = replaced(trimmed(cut(list, "\n* ")), "\n  ", " ");
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
