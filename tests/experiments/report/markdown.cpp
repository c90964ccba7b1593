// Derivations as HTML: headings, links, tables, formulas, text that stays text, and every page of the docs without a mark
// left over.
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <string>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/report/html.hpp>

namespace test_markdown {
BOOST_AUTO_TEST_SUITE(markdown)

using namespace chalkgrad;

namespace {

std::string html(std::string_view markdown) {
    return markdown_html(markdown, 2, [](std::string_view target) { return target == "a.md" ? "#a" : ""; });
}

} // namespace

BOOST_AUTO_TEST_CASE(blocks) {
    BOOST_TEST(html("# A <b>\n\ntext\nmore\n## B\n") == "<h3>A &lt;b&gt;</h3>\n<p>text\nmore</p>\n<h4>B</h4>\n");
    BOOST_TEST(html("* one\n  and more\n* two\n") == "<ul>\n<li>one\nand more</li>\n<li>two</li>\n</ul>\n");
    const std::string table = html("| a | `b` |\n|---|---|\n| 1 | $x$ |\n");
    BOOST_TEST(table.starts_with("<div class=\"scroll\"><table>"));
    BOOST_TEST(table.find("<th scope=\"col\"><code>b</code></th>") != table.npos);
    BOOST_TEST(table.find("<td><x-equation>x</x-equation></td>") != table.npos);
    BOOST_TEST(html("") == "");
}

BOOST_AUTO_TEST_CASE(words) {
    BOOST_TEST(html("**bold `x*y`** and *soft*, 2 * 3 * 4") ==
               "<p><strong>bold <code>x*y</code></strong> and <em>soft</em>, 2 * 3 * 4</p>\n");
    BOOST_TEST(html("[one](a.md) [*two*](b.md) [three]") == "<p><a href=\"#a\">one</a> <em>two</em> [three]</p>\n");
    BOOST_TEST(html("[x](javascript:alert(1))") == "<p>x</p>\n");
    BOOST_TEST(html("`open $x") == "<p>`open $x</p>\n");
    BOOST_TEST(html("<script>alert(1)</script> <b onclick=x>") ==
               "<p>&lt;script&gt;alert(1)&lt;/script&gt; &lt;b onclick=x&gt;</p>\n");
}

BOOST_AUTO_TEST_CASE(formulas) {
    BOOST_TEST(html("$a_i < *b*$") == "<p><x-equation>a_i &lt; *b*</x-equation></p>\n");
    BOOST_TEST(html("$$a\\\\ \nb \\,$$") == "<p><x-equation type=\"display\">a\\\\  b \\,</x-equation></p>\n");
}

BOOST_AUTO_TEST_CASE(every_derivation_is_understood) {
    for (const auto& file : std::filesystem::directory_iterator(CHALKGRAD_SOURCE_DIR "/docs/derivations")) {
        std::string page = html(read_file(file.path()));
        for (const auto& [open, close] : {std::pair{"<x-equation", "</x-equation>"}, {"<code>", "</code>"}})
            for (std::size_t at = page.find(open); at != page.npos; at = page.find(open))
                page.erase(at, page.find(close, at) - at);
        const std::size_t mark = page.find_first_of("$*`\\");
        BOOST_TEST(mark == page.npos, file.path().filename() << ": " << page.substr(std::min(mark, page.size()), 60));
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_markdown
