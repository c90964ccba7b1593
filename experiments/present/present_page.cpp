// Putting the page of `chalkgrad present` together from its parts in experiments/present/page.
#include <chalkgrad/experiments/present/present_page.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/graph/dot.hpp>
#include <chalkgrad/experiments/present/stepping.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/render.hpp>

namespace chalkgrad {
namespace {

/// More would take a minute to draw, and nobody steps through them.
constexpr std::size_t most_lines = 600;

/// JSON that can stand in a <script> element: no end tag, no comment can begin in it.
std::string script_json(const nlohmann::json& document) {
    std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), out;
    for (const char c : text)
        if (c == '<') out += "\\u003c";
        else out += c;
    return out;
}

/// The template with every {{NAME}} replaced; what is put in is not looked at again.
std::string filled(std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& parts) {
    std::string out;
    for (;;) {
        const std::size_t begin = page.find("{{"), end = page.find("}}", begin);
        if (end == page.npos) return out += page;
        const std::string_view name = page.substr(begin + 2, end - begin - 2);
        out += page.substr(0, begin);
        for (const auto& [key, text] : parts)
            if (key == name) out += text;
        page.remove_prefix(end + 2);
    }
}

std::string part(std::string_view name) {
    return std::string(embedded(fmt::format("experiments/present/page/{}", name)));
}

/// Every line of the tape as a box of its own; ids begin with the theme's name.
std::string graph_svg(const Graph& graph, const char* theme) {
    DrawOptions draw_options;
    draw_options.level = DrawOptions::Level::op;
    draw_options.fold_repeats = false;
    DotOptions look;
    look.theme = std::string_view(theme) == "dark" ? DotOptions::Theme::dark : DotOptions::Theme::light;
    look.legend = false;
    return inline_svg(render_dot(to_dot({draw(graph, draw_options)}, look), "svg"), fmt::format("{}-", theme));
}

} // namespace

std::string present_page(const TracedComputation& subject, const std::optional<Katex>& katex) {
    const std::size_t lines = subject.y.tape().size();
    if (lines > most_lines)
        throw Error(
            fmt::format("present: '{}' has {} lines and a page shows {} at most; 'chalkgrad trace {}' prints them all",
                subject.name, lines, most_lines, subject.name));
    const Graph graph = graph_of(subject.y.tape(), subject.inputs, {subject.y.line()});
    return filled(part("present.html"),
        {{"name", xml_text(one_line(subject.name))}, {"title", xml_text(one_line(subject.title))},
            {"licence", katex ? katex_licence() : ""}, {"katex.css", katex ? katex->style : ""},
            {"katex.js", katex ? katex->script : ""}, {"present.css", part("present.css")},
            {"light", graph_svg(graph, "light")}, {"dark", graph_svg(graph, "dark")},
            {"data", script_json(stepping_json(subject))},
            {"typeset.js", std::string(embedded("experiments/report/typeset.js"))}, {"moments.js", part("moments.js")},
            {"card.js", part("card.js")}, {"graph.js", part("graph.js")}, {"present.js", part("present.js")}});
}

} // namespace chalkgrad
