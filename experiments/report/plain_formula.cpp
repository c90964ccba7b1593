// LaTeX to a line of Unicode: a recursive descent over the commands of derivations.
#include <chalkgrad/experiments/report/plain_formula.hpp>

#include <algorithm>

#include <chalkgrad/autograd/base/text.hpp>

namespace chalkgrad {
namespace {

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

/// The first character of a text that is not empty.
std::string_view first(std::string_view text) { return text.substr(0, std::max<std::size_t>(utf8_length(text), 1)); }

/// Brackets around what has several parts.
std::string in_brackets(const std::string& text) { return text.find(' ') == text.npos ? text : "(" + text + ")"; }

/// In small characters above or below the line, if there are such for all of it.
template <std::size_t n> std::string script(const Symbol (&table)[n], std::string_view mark, const std::string& text) {
    std::string out;
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(first(rest).size())) {
        const Symbol* const small = find(table, first(rest));
        if (small == nullptr) return std::string(mark) + (text.find(' ') == text.npos ? text : "(" + text + ")");
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
    std::string out;
    for (bool formula = false;; formula = !formula) {
        const std::size_t end = std::min(line.find('$'), line.size());
        const std::string_view part = line.substr(0, end);
        out += formula ? plain_formula(part) : std::string(part);
        if (end == line.size()) return out;
        line.remove_prefix(end + 1);
    }
}

} // namespace chalkgrad
