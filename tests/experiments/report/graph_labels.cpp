// Names that Graphviz would read as escapes, tags or entities, drawn and read back: in plain boxes, boxes with notes, frames, arrows
// and tooltips.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/graph/dot.hpp>
#include <chalkgrad/experiments/report/render.hpp>

namespace test_graph_labels {
BOOST_AUTO_TEST_SUITE(graph_labels)

using namespace chalkgrad;

namespace {

/// What an attribute or a text of an SVG says.
std::string said(std::string text) {
    for (const auto& [entity, character] : {std::pair("&lt;", "<"), {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"},
             {"&#45;", "-"}, {"&#160;", "\u00A0"}, {"&#10;", "\n"}, {"&amp;", "&"}})
        for (std::size_t at = 0; (at = text.find(entity, at)) != std::string::npos; ++at)
            text.replace(at, std::string(entity).size(), character);
    for (std::size_t at; (at = text.find("\u00A0")) != std::string::npos;) text.replace(at, 2, " ");
    return text;
}

/// The element with this id: its texts, one a line, and its tooltip.
struct Shown {
    std::string text, tooltip;

    Shown(const std::string& svg, std::string id) {
        for (std::size_t dash = 0; (dash = id.find('-', dash)) != std::string::npos;) id.replace(dash, 1, "&#45;");
        std::size_t at = svg.find("id=\"" + id + "\"");
        BOOST_TEST_REQUIRE(at != std::string::npos, id);
        // What lies in the element has its id with a_ in front: links, and the label of an edge.
        std::size_t end = svg.find("id=\"", at + 4);
        while (end != std::string::npos && svg.substr(end + 4).starts_with("a_" + id)) end = svg.find("id=\"", end + 4);
        const std::string element = svg.substr(at, end - at);
        const auto between = [&](const std::string& open, const std::string& close, std::size_t& from) {
            const std::size_t begin = from + open.size();
            from = element.find(close, begin);
            return said(element.substr(begin, from - begin));
        };
        if ((at = element.find("xlink:title=\"")) != std::string::npos) tooltip = between("xlink:title=\"", "\"", at);
        for (at = 0; (at = element.find("<text", at)) != std::string::npos;) {
            at = element.find('>', at);
            text += (text.empty() ? "" : "\n") + between(">", "</text>", at);
        }
    }
};

const std::string names[] = {"\\N", "\\G", "\\E\\T\\H\\L", "a\\lb\\rc\\n", "\\\\N", "back\\slash\\", "say \"hi\"", "'",
    "<b>bold</b>", "a & b < c > d", "&amp; &#65; &lt;", "a|b{c}", "-->", "]]>", "two\nlines", "naïve γ → 中文 😀",
    "%s {}", "node", std::string(60, 'x')};

} // namespace

BOOST_AUTO_TEST_CASE(are_drawn_as_they_are) {
    Drawing drawing;
    drawing.frames = {{"drawing", "", 0}};
    for (std::size_t k = 0; k < std::size(names); ++k) {
        const std::string id = std::to_string(k);
        drawing.frames.push_back({"scope-" + id, names[k], 0});
        drawing.boxes.push_back({"line-1" + id, Box::Look::other, names[k], {}, names[k], {}, k + 1});
        drawing.boxes.push_back(
            {"line-2" + id, Box::Look::norm, names[k], {{Note::Kind::missing, names[k]}}, names[k], {}, k + 1});
        for (const auto look : {Arrow::Look::data, Arrow::Look::residual})
            drawing.arrows.push_back(
                {2 * k, 2 * k + 1, "edge-" + std::to_string(drawing.arrows.size()), names[k], look});
    }
    const std::string svg = render_dot(to_dot({drawing}), "svg");
    for (std::size_t k = 0; k < std::size(names); ++k) {
        const std::string id = std::to_string(k), &name = names[k];
        const Shown frame(svg, "scope-" + id), plain(svg, "line-1" + id), notes(svg, "line-2" + id);
        BOOST_TEST(frame.text == name);
        BOOST_TEST(frame.tooltip == name);
        BOOST_TEST(plain.text == name);
        BOOST_TEST(plain.tooltip == name);
        BOOST_TEST(notes.text == name + "\n" + name);
        BOOST_TEST(notes.tooltip == name);
        const Shown edge(svg, "edge-" + std::to_string(2 * k));
        BOOST_TEST(edge.text.substr(1) == name);
        BOOST_TEST(edge.tooltip == name + " → " + name);
        const Shown residual(svg, "edge-" + std::to_string(2 * k + 1));
        BOOST_TEST(residual.text == name);
    }
}

BOOST_AUTO_TEST_CASE(empty_and_long_ones) {
    Drawing drawing;
    drawing.frames = {{"drawing", "", 0}};
    drawing.boxes.push_back(
        {"line-1", Box::Look::norm, "", {{Note::Kind::missing, ""}, {Note::Kind::value, "\n"}}, "", {}, 0});
    drawing.boxes.push_back({"line-2", Box::Look::other, "", {}, "", {}, 0});
    const std::string longer(300, 'x');
    drawing.boxes.push_back({"line-3", Box::Look::other, longer, {{Note::Kind::value, longer}}, "", {}, 0});
    const std::string svg = render_dot(to_dot({drawing}), "svg");
    BOOST_TEST(Shown(svg, "line-2").text == "");
    const Shown cut(svg, "line-3");
    BOOST_TEST(cut.text == std::string(60, 'x') + "…\n" + std::string(90, 'x') + "…");
    BOOST_TEST(cut.tooltip == longer);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_graph_labels
