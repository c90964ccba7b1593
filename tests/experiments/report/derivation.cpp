// The derivation pages as the one source of formulas: what is read from them, that every op has its statements, and that
// the comments of the code say the same.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/report/derivation.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

#include "../../support.hpp"

namespace test_derivation {
BOOST_AUTO_TEST_SUITE(derivation)

using namespace chalkgrad;
using namespace chalkgrad::testing;
namespace fs = std::filesystem;

namespace {

void replace(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

/// Every bar as a character of its own, behind its letter.
std::string with_bars(std::string text) {
    constexpr std::pair<const char*, const char*> pairs[] = {{"ā", "a"}, {"ē", "e"}, {"ḡ", "g"}, {"ō", "o"}, {"ū", "u"},
        {"ȳ", "y"}, {"ᾱ", "α"}, {"Ā", "A"}, {"Ē", "E"}, {"Ḡ", "G"}, {"Ō", "O"}, {"Ȳ", "Y"}};
    for (const auto& [from, letter] : pairs) replace(text, from, std::string(letter) + "\u0304");
    return text;
}

/// Without spaces, and without what a formula may leave open: that a sum runs over rows, that it sums over the copies of
/// a broadcast operand.
std::string normal(std::string text) {
    text = with_bars(std::move(text));
    for (const auto& [from, to] : {std::pair{" ", ""}, {"_rows", ""}, {"ᵣ", "_r"}, {"ᵢ", "_i"}})
        replace(text, from, to);
    for (std::size_t at = text.find("unb("); at != text.npos; at = text.find("unb(")) {
        std::size_t end = at + 4;
        for (int depth = 1; end < text.size() && depth > 0; ++end)
            depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
        text = text.substr(0, at) + text.substr(at + 4, end - at - 5) + text.substr(end);
    }
    return text;
}

/// All formulas of a page, a line for each.
std::string formulas_in(std::string page) {
    std::string out;
    replace(page, "$$", "$");
    replace(page, "\\qquad", "$ $");
    for (std::size_t at = page.find('$'); at != page.npos; at = page.find('$', at)) {
        const std::size_t end = std::min(page.find('$', at + 1), page.size() - 1);
        out += normal(plain_formula(std::string_view(page).substr(at + 1, end - at - 1))) + "\n";
        at = end + 1;
    }
    return out;
}

/// Whether words begin here, not the name of a function.
bool are_words(std::string_view text) {
    const std::size_t end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), text.size());
    return end >= 2 && (end == text.size() || std::string_view(" ,.;:)").find(text[end]) != text.npos);
}

/// The formula at the head of a comment: up to a stop, a wide gap, a bracket that it did not open, or words.
std::string formula_at_head(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string_view rest = text.substr(i);
        depth += rest[0] == '(' ? 1 : rest[0] == ')' ? -1 : 0;
        const bool stop = std::string_view(",.;:").find(rest[0]) != rest.npos && (rest.size() == 1 || rest[1] == ' ');
        const bool words =
            rest[0] == ' ' && (are_words(rest.substr(1)) || (rest.starts_with(" (") && are_words(rest.substr(2))));
        if (depth < 0 || rest.starts_with("  ") || (depth == 0 && (stop || words)))
            return std::string(text.substr(0, i));
    }
    return std::string(text);
}

/// What a line of a comment states: "x̄ = …" without spaces, and of "slope σ(x) …" the slope.
std::vector<std::string> stated(const std::string& line) {
    std::vector<std::string> found;
    const std::size_t comment = line.find("//");
    if (comment == line.npos) return found;
    const std::string text = with_bars(line.substr(comment));
    for (std::size_t at = text.find("\u0304"); at != text.npos; at = text.find("\u0304", at + 1)) {
        const std::size_t equal = text.find(" = ", at);
        if (equal == text.npos || equal - at > 4) continue; // the bar, and perhaps an index
        std::size_t begin = at - 1;
        while ((static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
        found.push_back(normal(text.substr(begin, equal - begin) + "=" + formula_at_head(text.substr(equal + 3))));
    }
    for (std::size_t at = text.find("slope "); at != text.npos; at = text.find("slope ", at + 1)) {
        const std::string slope = formula_at_head(text.substr(at + 6));
        if (slope.starts_with('(') || are_words(slope)) continue;
        if (contains(slope, "(")) found.push_back(normal(slope));
    }
    return found;
}

/// Whether a page holds the whole of a formula, not the beginning of a longer one.
bool holds(const std::string& formulas, const std::string& formula) {
    for (std::size_t at = formulas.find(formula); at != formulas.npos; at = formulas.find(formula, at + 1))
        if (std::string_view("\n,.;=:)").find(formulas[at + formula.size()]) != std::string_view::npos) return true;
    return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(formulas_as_plain_text) {
    const std::pair<const char*, const char*> given[] = {
        {"\\bar x = r\\,(h - n \\langle n h\\rangle)", "x\u0304 = r (h − n ⟨n h⟩)"},
        {"-\\tfrac12 \\sum_{\\text{rows}} w^2", "−½ Σ_rows w²"}, {"x^{p-1}", "xᵖ⁻¹"}, {"x_{2i+1}", "x₂ᵢ₊₁"},
        {"\\frac{a + b}{c}", "(a + b)/c"}, {"\\sqrt x + \\sqrt{a b}", "√x + √(a b)"},
        {"\\operatorname{sech}^2 x", "sech² x"}, {"e^{-x^2}", "e^−x²"}, {"\\unknown", "\\unknown"},
        {"a^\\top b", "aᵀ b"}};
    for (const auto& [latex, plain] : given) BOOST_TEST(plain_formula(latex) == plain);
    for (const char* const broken : {"", "}", "{", "\\", "x^", "x_", "\\frac", "\\bar", "\xC3", "^^"})
        BOOST_CHECK_NO_THROW(plain_formula(broken));
    BOOST_TEST(plain_text("$x_k =$ its part of $y$, or $1") == "xₖ = its part of y, or 1");
}

BOOST_AUTO_TEST_CASE(statements_of_a_page) {
    const Derivation page = read_derivation(
        "# f\n\n$$y = f(x), \\qquad\nf = g .$$\n\n## Backward\n\n* `x`: $\\bar x = 2\n  \\bar y$, $h = 1$\n"
        "* `gamma`: $\\bar x_k =$ its part\n* kept: $r$, by row\n\n## By hand\n\n* `b`: $\\bar x = 0$\n");
    BOOST_TEST(page.forward == (std::vector<std::string>{"y = f(x)", "f = g"}), boost::test_tools::per_element());
    BOOST_REQUIRE(page.backward.size() == 2);
    BOOST_TEST(page.backward[0].latex == "\\bar x = 2 \\bar y\\text{, }h = 1");
    BOOST_TEST(page.backward[0].plain == "x\u0304 = 2 y\u0304, h = 1");
    BOOST_TEST(page.gradient("gamma")->plain == "x\u0304ₖ = its part");
    BOOST_TEST(page.gradient("b") == nullptr);
    BOOST_TEST(page.kept == "r, by row");
    for (const char* const none : {"", "$$ never closed", "# f\n\n## Backward\n"})
        BOOST_TEST(read_derivation(none).backward.empty());
    BOOST_TEST(gradient_in_words("rms_norm", "x") == "gx = r (h − n ⟨n h⟩), h = γ gy");
    BOOST_TEST(refusal([] { gradient_in_words("rms_norm", "beta"); }) ==
               "docs/derivations/rms_norm.md states no gradient of beta");
}

BOOST_AUTO_TEST_CASE(every_recorded_op_has_a_formula_for_every_input) {
    std::set<std::string> keeping;
    for (const CatalogEntry& op : catalog()) {
        BOOST_TEST(!derivation_of(op.name).forward.empty(), op.name);
        Generator rng(0);
        for (const Sample& sample : op.samples(rng)) {
            const Tape tape;
            run_sample(op, sample, tape);
            for (std::size_t i = 0; i < tape.size(); ++i) {
                const Line line = tape.line(i);
                if (line.kind != Line::Kind::op) continue;
                for (std::size_t k = 0; k < line.inputs.size(); ++k)
                    if (line.inputs[k] >= 0 && tape.line(static_cast<std::size_t>(line.inputs[k])).needs_grad)
                        BOOST_TEST((derivation_of(line.op).gradient(line.input_names[k]) != nullptr),
                            line.op << " " << line.input_names[k]);
                if ((*tape.state())[static_cast<detail::Index>(i)].saved != nullptr) keeping.insert(line.op);
            }
        }
    }
    for (const CatalogEntry& op : catalog()) {
        const Derivation& page = derivation_of(op.name);
        BOOST_TEST(keeping.contains(op.name) == !page.kept.empty(), op.name << " keeps: " << page.kept);
        for (const Derivation::Gradient& gradient : page.backward)
            BOOST_TEST(!contains(gradient.plain, "\\"), op.name << ": " << gradient.plain);
    }
}

// A comment that states a gradient states one of the pages of the ops in its file; one in a header, of any page.
BOOST_AUTO_TEST_CASE(comments_say_what_the_pages_say) {
    const fs::path root = CHALKGRAD_SOURCE_DIR;
    std::map<std::string, std::string> formulas; // by page
    for (const auto& page : fs::directory_iterator(root / "docs/derivations"))
        formulas[page.path().stem().string()] = formulas_in(read_file(page.path()));
    const auto differing = [&](const fs::path& name, const std::string& source) {
        std::vector<std::string> wrong;
        for (std::size_t at = 0; at < source.size();) {
            const std::size_t end = std::min(source.find('\n', at), source.size());
            for (const std::string& formula : stated(source.substr(at, end - at)))
                if (std::none_of(formulas.begin(), formulas.end(), [&](const auto& page) {
                        return (name.extension() == ".hpp" || page.first == "elementwise" ||
                                   contains(source, page.first)) &&
                               holds(page.second, formula);
                    }))
                    wrong.push_back(formula);
            at = end + 1;
        }
        return wrong;
    };
    std::size_t count = 0;
    for (const auto& file : fs::recursive_directory_iterator(root / "ops")) {
        if (!file.is_regular_file()) continue;
        const std::string source = read_file(file.path());
        for (const std::string& formula : differing(file.path(), source))
            BOOST_ERROR(
                file.path().filename().string() << " states '" << formula << "', which none of its pages states");
        for (std::size_t at = 0; at < source.size(); at = std::min(source.find('\n', at), source.size()) + 1)
            count += stated(source.substr(at, std::min(source.find('\n', at), source.size()) - at)).size();
    }
    BOOST_TEST(count > 40);
    // It can fail: a sign, a factor, an op of another name.
    BOOST_TEST(differing("f.cpp", "// rms_norm: x̄ = r (h − n ⟨n h⟩), γ̄ = Σ_rows ȳ n").empty());
    BOOST_TEST(differing("f.cpp", "// rms_norm: x̄ = r (h + n ⟨n h⟩)").size() == 1);
    BOOST_TEST(differing("f.cpp", "// rms_norm: γ̄ = Σ_rows ȳ").size() == 1);
    BOOST_TEST(differing("f.cpp", "// softmax: x̄ = r (h − n ⟨n h⟩)").size() == 1);
    BOOST_TEST(differing("f.cpp", "// silu: slope σ(x) (1 − x σ(−x)).").size() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_derivation
