// LaTeX to MathML: a recursive descent over the few dozen commands that derivations are written in.
#include <chalkgrad/experiments/report/mathml.hpp>
#include <chalkgrad/experiments/report/picture.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr Pair letters[] = {
    {"alpha", "α"},
    {"beta", "β"},
    {"gamma", "γ"},
    {"delta", "δ"},
    {"varepsilon", "ε"},
    {"epsilon", "ε"},
    {"theta", "θ"},
    {"mu", "μ"},
    {"pi", "π"},
    {"sigma", "σ"},
    {"tau", "τ"},
    {"varphi", "φ"},
    {"phi", "φ"},
    {"Phi", "Φ"},
    {"ell", "ℓ"},
    {"infty", "∞"},
    {"partial", "∂"},
    {"top", "⊤"},
};
constexpr Pair operators[] = {
    {"cdot", "·"},
    {"pm", "±"},
    {"mp", "∓"},
    {"le", "≤"},
    {"ge", "≥"},
    {"ne", "≠"},
    {"to", "→"},
    {"times", "×"},
    {"in", "∈"},
    {"odot", "⊙"},
    {"approx", "≈"},
    {"gg", "≫"},
    {"ll", "≪"},
    {"leftarrow", "←"},
    {"dots", "…"},
    {"cdots", "⋯"},
    {"Longrightarrow", "⟹"},
    {"langle", "⟨"},
    {"rangle", "⟩"},
    {"lVert", "‖"},
    {"rVert", "‖"},
    {"lfloor", "⌊"},
    {"rfloor", "⌋"},
    {"lceil", "⌈"},
    {"rceil", "⌉"},
    {"{", "{"},
    {"}", "}"},
    {"mid", "|"},
    {"|", "‖"},
    {"%", "%"},
    {"_", "_"},
    {"&", "&amp;"},
    {"Rightarrow", "⇒"},
};
constexpr Pair big_operators[] = {{"sum", "∑"}, {"prod", "∏"}, {"int", "∫"}};
constexpr Pair accents[] = {{"bar", "¯"}, {"overline", "¯"}, {"hat", "^"}, {"tilde", "~"}, {"dot", "˙"}};
constexpr Pair spaces[] = {{",", "0.17em"}, {":", "0.22em"}, {";", "0.28em"}, {" ", "0.28em"}, {"!", "-0.17em"},
    {"quad", "1em"}, {"qquad", "2em"}};
constexpr std::string_view functions[] = {
    "log", "ln", "exp", "max", "min", "tanh", "sin", "cos", "cosh", "sinh", "arg", "det"};
constexpr std::string_view sizes[] = {
    "left", "right", "big", "bigl", "bigr", "Big", "Bigl", "Bigr", "bigg", "biggl", "biggr"};

template <std::size_t n> std::string_view find(const Pair (&table)[n], std::string_view name) {
    for (const auto& [key, value] : table)
        if (key == name) return value;
    return {};
}
template <std::size_t n> bool contains(const std::string_view (&list)[n], std::string_view name) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
public:
    Parser(std::string_view latex, bool display) : rest_(latex), display_(display) {}

    /// Atoms up to the end, an unmatched "}", "\end", "\right" or, inside a table, "&" or "\\".
    std::string row(bool in_table = false) {
        std::string out;
        for (skip_space(); !rest_.empty() && !at_end(in_table); skip_space()) out += with_scripts(atom());
        return "<mrow>" + out + "</mrow>";
    }
    bool done() const { return rest_.empty(); }
    void drop() { rest_.remove_prefix(1); }

private:
    bool at_end(bool in_table) const {
        return rest_[0] == '}' || rest_.starts_with("\\end{") ||
               (in_table && (rest_[0] == '&' || rest_.starts_with("\\\\")));
    }
    void skip_space() {
        while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) rest_.remove_prefix(1);
    }
    std::string_view take(std::size_t n) {
        const std::string_view taken = rest_.substr(0, n);
        rest_.remove_prefix(taken.size());
        return taken;
    }
    /// The name after a backslash: letters, or one other character.
    std::string_view command() {
        take(1);
        std::size_t n = 0;
        while (n < rest_.size() && is_letter(rest_[n])) ++n;
        return take(std::max<std::size_t>(n, 1));
    }
    /// The raw text of {…}.
    std::string_view raw_group() {
        skip_space();
        if (rest_.empty() || rest_[0] != '{') return take(1);
        int depth = 0;
        std::size_t end = 0;
        do {
            depth += rest_[end] == '{' ? 1 : rest_[end] == '}' ? -1 : 0;
            ++end;
        } while (end < rest_.size() && depth > 0);
        const std::string_view group = take(end);
        return group.substr(1, group.size() - (depth == 0 ? 2 : 1));
    }
    std::string group() {
        skip_space();
        if (rest_.empty()) return "<mrow></mrow>";
        if (rest_[0] == '{') {
            take(1);
            std::string inner = row();
            if (!rest_.empty() && rest_[0] == '}') take(1);
            return inner;
        }
        limits_ = false;
        return is_digit(rest_[0]) ? fmt::format("<mn>{}</mn>", take(1)) : atom();
    }

    std::string atom() {
        limits_ = false;
        const char c = rest_[0];
        if (c == '{') return group();
        if (c == '\\') return of_command(command());
        if (is_letter(c)) return fmt::format("<mi>{}</mi>", take(1));
        if (is_digit(c)) {
            std::size_t n = 1;
            while (n < rest_.size() &&
                   (is_digit(rest_[n]) || (rest_[n] == '.' && n + 1 < rest_.size() && is_digit(rest_[n + 1]))))
                ++n;
            return fmt::format("<mn>{}</mn>", take(n));
        }
        if (c == '-') return take(1), "<mo>−</mo>";
        if (c == '\'') return take(1), "<mo>′</mo>";
        std::size_t n = 1; // a whole UTF-8 character
        while (n < rest_.size() && (static_cast<unsigned char>(rest_[n]) & 0xC0) == 0x80) ++n;
        return mo(xml_text(take(n)));
    }
    /// Delimiters keep their own size unless \left and \right ask otherwise.
    static std::string mo(std::string_view symbol) { return fmt::format("<mo stretchy=\"false\">{}</mo>", symbol); }

    std::string of_command(std::string_view name) {
        if (const auto letter = find(letters, name); !letter.empty()) return fmt::format("<mi>{}</mi>", letter);
        if (const auto symbol = find(operators, name); !symbol.empty()) return mo(symbol);
        if (const auto space = find(spaces, name); !space.empty())
            return fmt::format("<mspace width=\"{}\"></mspace>", space);
        if (const auto big = find(big_operators, name); !big.empty()) {
            limits_ = display_ && name != "int";
            return fmt::format("<mo>{}</mo>", big);
        }
        if (const auto accent = find(accents, name); !accent.empty())
            return fmt::format("<mover accent=\"true\">{}<mo stretchy=\"false\">{}</mo></mover>", group(), accent);
        if (contains(functions, name)) {
            limits_ = display_ && (name == "max" || name == "min");
            return fmt::format("<mi>{}</mi><mo>\u2061</mo>", name);
        }
        if (name == "frac" || name == "tfrac" || name == "dfrac") {
            const std::string above = group(), below = group();
            return fmt::format("<mfrac{}>{}{}</mfrac>", name == "tfrac" ? " displaystyle=\"false\"" : "", above, below);
        }
        if (name == "sqrt") return fmt::format("<msqrt>{}</msqrt>", group());
        if (name == "operatorname" || name == "mathrm")
            return fmt::format("<mi>{}</mi><mo>\u2061</mo>", xml_text(raw_group()));
        if (name == "text") return fmt::format("<mtext>{}</mtext>", plain(raw_group()));
        if (name == "mathsf" || name == "mathbf") return group();
        if (name == "mathbb") return raw_group() == "R" ? "<mi>ℝ</mi>" : "";
        if (name == "textstyle" || name == "displaystyle") return "";
        if (contains(sizes, name)) {
            skip_space();
            if (rest_.empty() || rest_[0] == '.') return take(1), "";
            const bool grows = name == "left" || name == "right";
            std::string delimiter = atom();
            if (grows) delimiter.replace(delimiter.find("false"), 5, "true");
            return delimiter;
        }
        if (name == "begin") return table(raw_group());
        return fmt::format("<mtext>\\{}</mtext>", xml_text(name));
    }

    /// Spaces at the ends of \text count.
    static std::string plain(std::string_view words) {
        std::string out;
        for (const char c : words) out += c == ' ' ? "\u00A0" : xml_text(std::string_view(&c, 1));
        return out;
    }

    std::string table(std::string_view kind) {
        std::string rows = "<mtr><mtd>";
        while (true) {
            rows += row(true);
            if (rest_.starts_with("&")) {
                take(1);
                rows += "</mtd><mtd>";
            } else if (rest_.starts_with("\\\\")) {
                take(2);
                rows += "</mtd></mtr><mtr><mtd>";
            } else if (rest_.starts_with("}")) {
                take(1); // a stray brace must not stop the loop for ever
            } else {
                break;
            }
        }
        if (!rest_.empty()) command(), raw_group(); // \end{kind}
        const std::string grid =
            fmt::format("<mtable class=\"{}\">{}</mtd></mtr></mtable>", kind == "cases" ? "cases" : "matrix", rows);
        if (kind == "cases") return "<mrow><mo stretchy=\"true\">{</mo>" + grid + "</mrow>";
        if (kind == "pmatrix")
            return "<mrow><mo stretchy=\"true\">(</mo>" + grid + "<mo stretchy=\"true\">)</mo></mrow>";
        return grid;
    }

    std::string with_scripts(std::string base) {
        const bool limits = limits_;
        std::string below, above;
        for (skip_space(); !rest_.empty(); skip_space()) {
            if (rest_[0] == '\'') take(1), above += "<mo>′</mo>";
            else if (rest_[0] == '_' && below.empty()) take(1), below = group();
            else if (rest_[0] == '^') take(1), above += group();
            else break;
        }
        if (below.empty() && above.empty()) return base;
        base = "<mrow>" + base + "</mrow>";
        above = "<mrow>" + above + "</mrow>";
        if (limits) {
            if (below.empty()) return fmt::format("<mover>{}{}</mover>", base, above);
            if (above == "<mrow></mrow>") return fmt::format("<munder>{}{}</munder>", base, below);
            return fmt::format("<munderover>{}{}{}</munderover>", base, below, above);
        }
        if (below.empty()) return fmt::format("<msup>{}{}</msup>", base, above);
        if (above == "<mrow></mrow>") return fmt::format("<msub>{}{}</msub>", base, below);
        return fmt::format("<msubsup>{}{}{}</msubsup>", base, below, above);
    }

    std::string_view rest_;
    bool display_;
    bool limits_ = false; ///< the atom just read takes its scripts above and below
};

} // namespace

std::string mathml(std::string_view latex, bool display) {
    Parser parser(latex, display);
    std::string rows = parser.row();
    while (!parser.done()) { // an unmatched brace or \end: go on behind it
        parser.drop();
        rows += parser.row();
    }
    return fmt::format("<math{}>{}</math>", display ? " display=\"block\"" : "", rows);
}

} // namespace chalkgrad
