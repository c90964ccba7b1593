// Pictures of graphs: every format, everything Graphviz says, and labels as they were given.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/html.hpp>
#include <chalkgrad/experiments/report/parallel.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/render.hpp>

#include "../../support.hpp"

namespace test_render {
BOOST_AUTO_TEST_SUITE(render)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

const char* const graph = "digraph { a [label=\"γ ⊙ x\"]; a -> b [label=\"(3, 5)\"] }";

std::string refusal_of(const std::string& dot, const char* format = "svg") {
    return refusal([&] { render_dot(dot, format); });
}

} // namespace

BOOST_AUTO_TEST_CASE(every_format_begins_as_it_should_and_repeats_to_the_byte) {
    const std::pair<const char*, const char*> heads[] = {{"svg", "<?xml"}, {"pdf", "%PDF-"}, {"png", "\x89PNG\r\n"},
        {"plain", "graph "}, {"json", "{"}, {"dot", "digraph"}};
    for (const auto& [format, start] : heads) {
        const std::string picture = render_dot(graph, format);
        BOOST_TEST(picture.starts_with(start), format);
        BOOST_TEST((render_dot(graph, format) == picture), format);
    }
}

BOOST_AUTO_TEST_CASE(a_pdf_holds_no_time) {
    BOOST_TEST(contains(render_dot(graph, "pdf"), "/CreationDate (D:20000101000000"));
}

BOOST_AUTO_TEST_CASE(text_stays_text_in_a_font_that_is_there) {
    const std::string svg = render_dot(graph, "svg");
    BOOST_TEST(contains(svg, ">γ ⊙ x</text>"));
    BOOST_TEST(contains(svg, ">(3, 5)</text>"));
    BOOST_TEST(contains(svg, "font-family=\"DejaVu Sans,"));
    BOOST_TEST(!contains(svg, "Times"));
    BOOST_TEST(contains(render_dot("digraph { node [fontname=\"Courier\"]; a }", "svg"), "Courier"));
}

BOOST_AUTO_TEST_CASE(hostile_labels_come_back_unchanged) { // G36
    const std::string svg = render_dot(R"(digraph {
        n0 [label="w \"gate\""]; n1 [label="<lambda> &amp; y"]; n2 [label="a|b{c}"]; n3 [label="p:0"]; n4 [label="layers.0.w"];
        n5 [label="γ⊙x + β"] })",
        "svg");
    for (const char* const text :
        {">w &quot;gate&quot;<", ">&lt;lambda&gt; &amp; y<", ">a|b{c}<", ">p:0<", ">layers.0.w<", ">γ⊙x + β<"})
        BOOST_TEST(contains(svg, text), text);
}

BOOST_AUTO_TEST_CASE(what_graphviz_says_becomes_the_error) {
    BOOST_TEST(contains(refusal_of("digraph { a -> b [; }"), "syntax error in line 1 near ';'"));
    BOOST_TEST(contains(refusal_of("graph { a -> b }"), "syntax error"));
    BOOST_TEST(contains(refusal_of("digraph { a [shape=nosuchshape] }"), "unknown shape nosuchshape"));
    BOOST_TEST(contains(refusal_of("digraph { a [shape=record label=\"{a|b\"] }"), "bad label format"));
    BOOST_TEST(
        contains(refusal_of("digraph { a [fixedsize=true width=0.1 label=\"too long\"] }"), "too small for label"));
    BOOST_TEST(contains(refusal_of(""), "it draws nothing"));
    BOOST_TEST(contains(refusal_of(std::string("digraph { a\0 }", 14)), "NUL"));
    BOOST_TEST(contains(refusal_of(graph, "gif"), "unknown format 'gif'; use one of svg, pdf, png, plain, json, dot"));
    // More than the 32767 pixels a side that a png can have.
    BOOST_TEST(
        contains(refusal_of("digraph { a [label=\"" + std::string(16'000, 'x') + "\"] }", "png"), "use svg or pdf"));
}

BOOST_AUTO_TEST_CASE(one_text_is_one_graph) {
    for (const char* const format : {"svg", "pdf", "png", "plain", "json", "dot"})
        BOOST_TEST(
            contains(refusal_of("digraph { a } digraph { left -> over }", format), "more than one graph"), format);
    BOOST_TEST(contains(refusal_of("digraph { a } left over"), "syntax error"));
    BOOST_TEST((render_dot(std::string(graph).append("\n// a comment\n"), "svg") == render_dot(graph, "svg")));
}

BOOST_AUTO_TEST_CASE(an_absent_or_failing_dot_is_one_clear_error) {
    {
        const Path nothing("/nonexistent");
        BOOST_TEST(contains(refusal_of(graph), "dot cannot be started; install Debian's graphviz"));
    }
    {
        const Folder folder; // with `timeout`, and without `dot`
        std::filesystem::create_symlink("/usr/bin/timeout", folder / "timeout");
        const Path path(folder.path);
        BOOST_TEST(contains(refusal_of(graph), "dot cannot be started; install Debian's graphviz"));
    }
    for (const auto& [script, said] :
        {std::pair("kill -9 $$", "it ended by a signal: Killed"), std::pair("echo '<svg'", "cut short"),
            std::pair("echo '</svg>'; echo 'Warning: odd' >&2", "svg picture: Warning: odd")}) {
        const FakeProgram fake("dot", script);
        BOOST_TEST(contains(refusal_of(graph), said));
    }
    // What a font library says is no complaint about the graph.
    const FakeProgram fake("dot", "echo '</svg>'; echo 'Fontconfig warning: no cache' >&2");
    BOOST_TEST(render_dot(graph, "svg") == "</svg>\n");
}

BOOST_AUTO_TEST_CASE(threads_do_not_meet) {
    const std::string right = render_dot(graph, "svg");
    std::atomic<int> wrong = 0;
    parallel_for(
        16, [&](std::size_t) { wrong += render_dot(graph, "svg") != right; }, 4);
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(a_picture_within_a_time) {
    BOOST_TEST((render_dot_within(graph, "svg", 60) == render_dot(graph, "svg")));
    BOOST_CHECK_EXCEPTION(render_dot_within("digraph {", "svg", 60), Error,
        [](const Error& e) { return contains(e.what(), "syntax error"); });
    // A mesh that Graphviz takes minutes for.
    std::string mesh = "digraph {";
    for (int i = 0; i < 400; ++i)
        for (int k = 1; k < 40; k += 3) mesh += fmt::format(" n{} -> n{};", i, (i * k + 17) % 400);
    mesh += "}";
    BOOST_TEST(!render_dot_within(mesh, "svg", 0.3));
    BOOST_TEST((render_dot_within(graph, "svg", 60) == render_dot(graph, "svg")));
}

BOOST_AUTO_TEST_CASE(text_is_made_fit_for_one_line) {
    BOOST_TEST(one_line("a\nb\tc\x7F") == "a b c ");
    BOOST_TEST(one_line("γ₂ 🙂") == "γ₂ 🙂");
    BOOST_TEST(one_line("\xFF\xC0\x80 \xED\xA0\x80 \xF0\x9F") == "\uFFFD\uFFFD\uFFFD \uFFFD\uFFFD\uFFFD \uFFFD\uFFFD");
    BOOST_TEST(xml_text("<a & \"b\">") == "&lt;a &amp; \"b\"&gt;");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_render
