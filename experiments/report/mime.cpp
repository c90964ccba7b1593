// Vars, tapes and graphs as notebooks show them.
#include <chalkgrad/experiments/report/mime.hpp>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/graph/dot.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/experiments/report/html.hpp>
#include <chalkgrad/experiments/report/render.hpp>

namespace chalkgrad {
namespace {

constexpr std::size_t longest = 8, edge = 3, none = static_cast<std::size_t>(-1);

/// Which of n indices are shown; `none` stands for those left out.
std::vector<std::size_t> shown(std::size_t n) {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < n; ++i) {
        if (n > longest && i == edge) {
            list.push_back(none);
            i = n - edge;
        }
        list.push_back(i);
    }
    return list;
}

/// The last axis runs to the right, all others down.
std::string grid(const std::string& caption, const std::vector<double>& numbers, const Shape& shape) {
    const std::size_t columns = shape.rank() == 0 ? 1 : shape.last(),
                      rows = columns == 0 ? 0 : numbers.size() / columns;
    std::string html = fmt::format("<table><caption>{}</caption>\n", xml_line(caption));
    for (const std::size_t i : shown(rows)) {
        html += "<tr>";
        for (const std::size_t j : shown(columns))
            html += i == none || j == none ? "<td>…</td>" : fmt::format("<td>{:.6g}</td>", numbers[i * columns + j]);
        html += "</tr>\n";
    }
    return html + "</table>\n";
}

template <class Printed> std::string printed(const Printed& x) { return fmt::format("{}", fmt::streamed(x)); }

} // namespace

template <class T> nlohmann::json mime_bundle_repr(const Var<T>& x) {
    if (!x) return {{"text/plain", printed(x)}};
    const Tape tape = x.tape();
    const std::size_t line = x.line();
    const std::string head = fmt::format("{} {} {}", x.name().empty() ? fmt::format("line {}", line) : x.name(),
        to_string(x.shape()), name(dtype_of<T>));
    std::string html = tape.shapes_only() ? fmt::format("<p>{}, shape only</p>\n", xml_line(head))
                                          : grid(head, values_of(tape, line), x.shape());
    if (const auto gradient = gradient_of(tape, line)) html += grid("gradient", *gradient, x.shape());
    return {{"text/plain", printed(x)}, {"text/html", html}};
}

#define CHALKGRAD_INSTANTIATE(T) template nlohmann::json mime_bundle_repr(const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

nlohmann::json mime_bundle_repr(const Tape& tape) {
    std::string html = "<table>", cell = "th";
    for (const TapeRow& row : table_of(tape)) {
        html += "<tr>";
        for (const std::string& text : row) html += fmt::format("<{0}>{1}</{0}>", cell, xml_line(text));
        html += "</tr>\n";
        cell = "td";
    }
    return {{"text/plain", printed(tape)}, {"text/html", html + "</table>\n"}};
}

nlohmann::json mime_bundle_repr(const Graph& graph) {
    const std::string dot = to_dot(graph);
    return {{"text/plain", dot}, {"image/svg+xml", render_dot(dot, "svg")}};
}

} // namespace chalkgrad
