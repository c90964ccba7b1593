// The report's page: names as text, verdicts, drawings that share a page, coloured code.
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/html.hpp>
#include <chalkgrad/experiments/report/page.hpp>
#include <chalkgrad/experiments/report/picture.hpp>

#include "../../support.hpp"

namespace test_page {
BOOST_AUTO_TEST_SUITE(page)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

Finished finished(const char* name, const char* section, const char* question) {
    return {{name, section, question, {}}, Report(name)};
}

} // namespace

BOOST_AUTO_TEST_CASE(every_finding_is_shown_and_names_are_text) {
    Finished one = finished("squares", "6.1", "How do <squares> grow?");
    one.report.number("two & two", 4, 4, Tolerance::exact(), "course §1");
    one.report.number("three", 3, 27.5, Tolerance::relative(1e-3), "course §6");
    one.report.number("many", 8030261248, 8030261248, Tolerance::exact(), "course §10");
    one.report.measured("ratio", -1.5e-7, "grows \"without\" bound");
    one.report.measured("grouped", -123456.75, "");
    one.report.not_reproduced("BLEU", "needs <training>");
    one.report.table({"values", {"<x>", "word"}, {{1, "<b>"}, {2.5, "c"}}});
    const std::string page = report_page({one}, {});
    for (const char* const part : {"How do &lt;squares&gt; grow?", "two &amp; two", "✗ FAIL", "8,030,261,248",
             "−1.5 · 10<sup>−7</sup>", "−123,456.8", "needs &lt;training&gt;", "&lt;x&gt;", "&lt;b&gt;",
             "± 0.001 of it", "Numbers checked: 3, of which 1 failed.", "<a href=\"#squares\">squares: three</a>",
             "id=\"section-6\"", "Placement changes the computation graph"})
        BOOST_TEST(contains(page, part), part);
    BOOST_TEST(!contains(page, "http:"));
    BOOST_TEST(!contains(page, "https:"));
    BOOST_TEST(!contains(page, "<script"));
    BOOST_TEST(report_page({one}, {}) == page);
}

BOOST_AUTO_TEST_CASE(a_section_is_one_part_wherever_its_experiments_stand) {
    const std::string page =
        report_page({finished("a", "6", "A?"), finished("b", "5", "B?"), finished("c", "6.2", "C?")}, {});
    BOOST_TEST(count(page, "<section id=\"section-6\"") == 1);
    BOOST_TEST(page.find("<h3>C?") < page.find("<h3>B?"));
    BOOST_TEST(contains(report_page({finished("mine", "", "Mine?")}, {}), "<h2>Experiments</h2>"));
    BOOST_TEST(!contains(report_page({finished("mine", "\"><b>", "Mine?")}, {}), "\"><b>"));
}

BOOST_AUTO_TEST_CASE(a_long_list_is_folded_but_never_what_failed) {
    Finished one = finished("many", "6", "Many?");
    for (int i = 0; i < 40; ++i) one.report.number("n", i, i, Tolerance::exact(), "");
    BOOST_TEST(contains(report_page({one}, {}), "<summary>40 numbers, all within their tolerances</summary>"));
    one.report.number("wrong", 1, 2, Tolerance::exact(), "");
    const std::string page = report_page({one}, {});
    BOOST_TEST(page.find("<td>wrong</td>") < page.find("<summary>40 numbers, these within"));
}

BOOST_AUTO_TEST_CASE(the_page_says_how_it_was_made_and_praises_nothing_unchecked) {
    Finished one = finished("mine", "", "Mine?");
    one.report.made_with(7, "./my <program> mine --seed 7");
    const std::string page = report_page({one}, {});
    BOOST_TEST(contains(page, "mine · <code>./my &lt;program&gt; mine --seed 7</code>"));
    BOOST_TEST(!contains(page, "§"));
    BOOST_TEST(contains(page, "No number was checked."));
    for (const char* const praise : {"all hold", "✓", "class=\"pass\""}) BOOST_TEST(!contains(page, praise), praise);
    BOOST_TEST(summary({one}) == "No number was checked.\n");
    Finished other = finished("other", "6", "Other?");
    other.report.number("two", 2, 2, Tolerance::exact(), "course §6");
    BOOST_TEST(summary({one, other}) == "1 of 1 experiments hold (1 numbers checked). 1 more checks no number.\n");
}

BOOST_AUTO_TEST_CASE(the_listing_links_to_the_derivations_of_the_ops_it_calls) {
    Finished one = finished("a", "5", "A?");
    one.experiment.listing = "const auto y = rms_norm(x), f = relu<double>; // my_softmax(x), nn::silu(x), softmax\n";
    const std::string page = report_page({one}, {});
    BOOST_TEST(contains(page, "href=\"#derivation-rms_norm\""));
    BOOST_TEST(contains(page, "id=\"derivation-rms_norm\""));
    BOOST_TEST(contains(page, "href=\"#derivation-relu\""));
    BOOST_TEST(!contains(page, "#derivation-softmax"));
    BOOST_TEST(!contains(page, "#derivation-silu"));
    BOOST_TEST(contains(page, "The code: 1 lines"));
    // Formulas need a script and its fonts, and only where they are shown.
    BOOST_TEST(!contains(page, "<script"));
    const std::string typeset = report_page({one}, Katex{"var katex;", "k{}"});
    for (const char* const part : {"<script>var katex;</script>", "<style>k{}</style>", "Khan Academy",
             "script-src 'unsafe-inline'; font-src data:", "function typeset"})
        BOOST_TEST(contains(typeset, part), part);
    BOOST_TEST(!contains(report_page({finished("a", "5", "A?")}, Katex{"var katex;", "k{}"}), "<script"));
}

BOOST_AUTO_TEST_CASE(drawings_share_a_page) {
    const std::string svg =
        "<?xml version=\"1.0\"?><!DOCTYPE x><svg><g id=\"a\" clip-path=\"url(#b)\"/><path id='b'/>"
        "<use xlink:href='#b'/><text>id=\"c\" url(#d)</text></svg>\n<!-- end -->";
    BOOST_TEST(inline_svg(svg, "p-") ==
               "<svg><g id=\"p-a\" clip-path=\"url(#p-b)\"/><path id='p-b'/>"
               "<use xlink:href='#p-b'/><text>id=\"c\" url(#d)</text></svg>");
    for (const char* const wrong : {"", "<html></html>", "<svg>", "</svg><svg>"})
        BOOST_CHECK_THROW(inline_svg(wrong, ""), Error);
}

BOOST_AUTO_TEST_CASE(code_is_coloured_and_escaped) {
    BOOST_TEST(listing_html("#include <a>\n    auto x = 1.5e-3 + 1'000; // \"<b>\"\n") ==
               "<span class=\"p\">#include &lt;a&gt;</span>\n    <span class=\"k\">auto</span> x = "
               "<span class=\"n\">1.5e-3</span> + <span class=\"n\">1'000</span>; <span class=\"c\">// "
               "\"&lt;b&gt;\"</span>\n");
    BOOST_TEST(
        listing_html("f(\"a\\\"//\", 'c')") == "f(<span class=\"s\">\"a\\\"//\"</span>, <span class=\"s\">'c'</span>)");
    BOOST_TEST(listing_html("\"open") == "<span class=\"s\">\"open</span>");
    BOOST_TEST(listing_html("\"\\") == "<span class=\"s\">\"\\</span>");
    BOOST_TEST(listing_html("automatic").find("span") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_page
