// Derivations as HTML: blocks, words inside a line, formulas as MathML, and every page of the docs without a command
// left over.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <string>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/report/markdown.hpp>
#include <chalkgrad/experiments/report/mathml.hpp>

namespace test_markdown {
BOOST_AUTO_TEST_SUITE(markdown)

using namespace chalkgrad;

namespace {

std::string html(std::string_view markdown) {
    return markdown_html(markdown, 2, [](std::string_view target) { return target == "a.md" ? "#a" : ""; });
}

/// Without what every formula has around it.
std::string inside(std::string_view latex, bool display = false) {
    std::string all = mathml(latex, display);
    all.erase(all.rfind("</mrow></math>"));
    return all.substr(all.find("<mrow>") + 6);
}

} // namespace

BOOST_AUTO_TEST_CASE(blocks) {
    BOOST_TEST(html("# A <b>\n\ntext\nmore\n## B\n") == "<h3>A &lt;b&gt;</h3>\n<p>text\nmore</p>\n<h4>B</h4>\n");
    BOOST_TEST(html("* one\n  and more\n* two\n\n1. first\n2. second\n") ==
               "<ul>\n<li>one\nand more</li>\n<li>two</li>\n</ul>\n<ol>\n<li>first</li>\n<li>second</li>\n</ol>\n");
    BOOST_TEST(html("```\nx < *y*\n```\n    four\n") == "<pre>x &lt; *y*\n</pre>\n<pre>four\n</pre>\n");
    BOOST_TEST(
        html("| a | `b|c` |\n|---|---|\n| 1 | 2 |\n") ==
        "<div class=\"scroll\"><table>\n<tr><th scope=\"col\">a</th><th scope=\"col\"><code>b|c</code></th></tr>\n"
        "<tr><td>1</td><td>2</td></tr>\n</table></div>\n");
    BOOST_TEST(html("") == "");
    BOOST_TEST(html("```\nopen") == "<pre>open\n</pre>\n");
}

BOOST_AUTO_TEST_CASE(words) {
    BOOST_TEST(html("**bold `x*y`** and *soft*, 2 * 3 * 4") ==
               "<p><strong>bold <code>x*y</code></strong> and <em>soft</em>, 2 * 3 * 4</p>\n");
    BOOST_TEST(html("[one](a.md) [two](b.md) [three]") == "<p><a href=\"#a\">one</a> two [three]</p>\n");
    BOOST_TEST(html("`open $x") == "<p>`open $x</p>\n");
    BOOST_TEST(html("<script>") == "<p>&lt;script&gt;</p>\n");
}

BOOST_AUTO_TEST_CASE(formulas) {
    BOOST_TEST(mathml("x", false) == "<math><mrow><mi>x</mi></mrow></math>");
    BOOST_TEST(mathml("x", true) == "<math display=\"block\"><mrow><mi>x</mi></mrow></math>");
    BOOST_TEST(inside("\\frac12") == "<mfrac><mn>1</mn><mn>2</mn></mfrac>");
    BOOST_TEST(inside("x_i^2") == "<msubsup><mrow><mi>x</mi></mrow><mi>i</mi><mrow><mn>2</mn></mrow></msubsup>");
    BOOST_TEST(inside("f'") == "<msup><mrow><mi>f</mi></mrow><mrow><mo>′</mo></mrow></msup>");
    BOOST_TEST(inside("\\bar y") == "<mover accent=\"true\"><mi>y</mi><mo stretchy=\"false\">¯</mo></mover>");
    BOOST_TEST(inside("a < 1.5") == "<mi>a</mi><mo stretchy=\"false\">&lt;</mo><mn>1.5</mn>");
    BOOST_TEST(inside("\\sum_j", true).starts_with("<munder>"));
    BOOST_TEST(inside("\\sum_j", false).starts_with("<msub>"));
    BOOST_TEST(inside("\\text{a b}") == "<mtext>a\u00A0b</mtext>");
    BOOST_TEST(inside("\\left(x\\right)").find("stretchy=\"true\"") != std::string::npos);
    BOOST_TEST(
        inside("\\begin{cases} 1 & x \\\\ 0 & y \\end{cases}").find("<mtr><mtd><mrow><mn>0</mn></mrow></mtd><mtd>") !=
        std::string::npos);
    BOOST_TEST(inside("\\unknown") == "<mtext>\\unknown</mtext>");
    for (const char* const broken : {"}", "{", "\\", "x^", "x_", "\\frac", "\\begin{cases}",
             "\\begin{cases} } \\end{cases}", "\\end{x}", "\\left", "^^", "\xC3"})
        BOOST_CHECK_NO_THROW(mathml(broken, true));
}

BOOST_AUTO_TEST_CASE(every_derivation_is_understood) {
    for (const auto& file : std::filesystem::directory_iterator(CHALKGRAD_SOURCE_DIR "/docs/derivations")) {
        const std::string page = html(read_file(file.path()));
        for (const char* const left : {"<mtext>\\", "$"}) { // an unknown command, a formula that is not closed
            const std::size_t at = page.find(left);
            BOOST_TEST(
                at == std::string::npos, file.path().filename() << ": " << page.substr(std::min(at, page.size()), 60));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_markdown
