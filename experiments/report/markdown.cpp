// Markdown by md4c, and what its HTML lacks: deeper headings, links of the page, tables that scroll.
#include <chalkgrad/experiments/report/markdown.hpp>

#include <fmt/format.h>
#include <md4c-html.h>

#include <chalkgrad/autograd/base/error.hpp>

namespace chalkgrad {
namespace {

/// Every `from` replaced.
void replace(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

} // namespace

std::string markdown_html(
    std::string_view markdown, int level, const std::function<std::string(std::string_view)>& link) {
    std::string html;
    const auto append = [](const MD_CHAR* text, MD_SIZE size, void* out) {
        static_cast<std::string*>(out)->append(text, size);
    };
    if (md_html(markdown.data(), static_cast<MD_SIZE>(markdown.size()), append, &html,
            MD_FLAG_TABLES | MD_FLAG_LATEXMATHSPANS | MD_FLAG_NOHTML, 0) != 0)
        throw Error("markdown: md4c ran out of memory");
    for (int deep = 6; deep >= 1; --deep) {
        const int deeper = std::min(deep + level, 6);
        replace(html, fmt::format("<h{}>", deep), fmt::format("<h{}>", deeper));
        replace(html, fmt::format("</h{}>", deep), fmt::format("</h{}>", deeper));
    }
    replace(html, "<table>", "<div class=\"scroll\"><table>");
    replace(html, "</table>", "</table></div>");
    replace(html, "<th>", "<th scope=\"col\">");
    constexpr std::string_view open = "<a href=\"";
    for (std::size_t at = html.find(open); at != html.npos; at = html.find(open, at)) {
        const std::size_t begin = at + open.size(), end = html.find('"', begin);
        const std::string target = link(std::string_view(html).substr(begin, end - begin));
        if (target.empty()) {
            html.erase(html.find("</a>", end), 4);
            html.erase(at, html.find('>', end) + 1 - at);
        } else {
            html.replace(begin, end - begin, target);
            at = begin;
        }
    }
    return html;
}

} // namespace chalkgrad
