// Markdown as HTML: blocks by their first line, then what stands inside a line.
#include <chalkgrad/experiments/report/markdown.hpp>
#include <chalkgrad/experiments/report/mathml.hpp>
#include <chalkgrad/experiments/report/picture.hpp>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

using Link = std::function<std::string(std::string_view)>;

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

/// One marked stretch: what opens and closes it, and what becomes of the words inside.
std::string inline_html(std::string_view text, const Link& link) {
    std::string html;
    /// What stands up to `mark`, past `from`; npos when nothing closes it.
    const auto until = [&](std::string_view mark, std::size_t from) { return text.find(mark, from); };
    while (!text.empty()) {
        std::size_t end = std::string_view::npos, length = 0;
        std::string out;
        if (text[0] == '`' && (end = until("`", 1)) != std::string_view::npos) {
            out = "<code>" + xml_text(text.substr(1, end - 1)) + "</code>", length = end + 1;
        } else if (text.starts_with("$$") && (end = until("$$", 2)) != std::string_view::npos) {
            out = mathml(text.substr(2, end - 2), true), length = end + 2;
        } else if (text[0] == '$' && (end = until("$", 1)) != std::string_view::npos) {
            out = mathml(text.substr(1, end - 1), false), length = end + 1;
        } else if (text.starts_with("**") && (end = until("**", 2)) != std::string_view::npos) {
            out = "<strong>" + inline_html(text.substr(2, end - 2), link) + "</strong>", length = end + 2;
        } else if (text[0] == '*' && text.size() > 1 && text[1] != ' ' &&
                   (end = until("*", 1)) != std::string_view::npos) {
            out = "<em>" + inline_html(text.substr(1, end - 1), link) + "</em>", length = end + 1;
        } else if (const std::size_t middle = text[0] == '[' ? until("](", 1) : std::string_view::npos;
                   middle != std::string_view::npos && (end = until(")", middle)) != std::string_view::npos) {
            const std::string words = inline_html(text.substr(1, middle - 1), link),
                              target = link(text.substr(middle + 2, end - middle - 2));
            out = target.empty() ? words : fmt::format("<a href=\"{}\">{}</a>", target, words), length = end + 1;
        } else {
            out = xml_text(text.substr(0, 1)), length = 1;
        }
        html += out;
        text.remove_prefix(length);
    }
    return html;
}

std::vector<std::string> cells(std::string_view line, const Link& link) {
    line = trimmed(line);
    line.remove_prefix(1);
    std::vector<std::string> found;
    while (!line.empty()) {
        // A bar inside code or a formula parts nothing.
        std::size_t end = 0;
        for (char quote = 0; end < line.size() && (quote != 0 || line[end] != '|'); ++end)
            if (line[end] == '`' || line[end] == '$')
                quote = quote == 0 ? line[end] : quote == line[end] ? '\0' : quote;
        found.push_back(inline_html(trimmed(line.substr(0, end)), link));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return found;
}

/// 0 for none, else the length of the mark of a list item: "* ", "- ", "1. ".
std::size_t item_mark(std::string_view line) {
    if (line.starts_with("* ") || line.starts_with("- ")) return 2;
    std::size_t digits = 0;
    while (digits < line.size() && line[digits] >= '0' && line[digits] <= '9') ++digits;
    return digits > 0 && line.substr(digits).starts_with(". ") ? digits + 2 : 0;
}

/// Whether a line ends the paragraph before it.
bool begins_block(std::string_view line) {
    return trimmed(line).empty() || line.starts_with("#") || line.starts_with("```") || line.starts_with("|") ||
           item_mark(line) != 0;
}

} // namespace

std::string markdown_html(std::string_view markdown, int level, const Link& link) {
    const std::vector<std::string_view> lines = split_lines(markdown);
    std::string html;
    for (std::size_t i = 0; i < lines.size();) {
        const std::string_view line = lines[i];
        if (trimmed(line).empty()) {
            ++i;
        } else if (line.starts_with("#")) {
            const std::size_t depth = line.find_first_not_of('#');
            const int h = std::min(level + int(std::min(depth, line.size())), 6);
            html += fmt::format(
                "<h{0}>{1}</h{0}>\n", h, inline_html(trimmed(line.substr(std::min(depth, line.size()))), link));
            ++i;
        } else if (line.starts_with("```")) {
            html += "<pre>";
            for (++i; i < lines.size() && !lines[i].starts_with("```"); ++i) html += xml_text(lines[i]) + "\n";
            html += "</pre>\n";
            ++i;
        } else if (line.starts_with("    ")) {
            html += "<pre>";
            for (; i < lines.size() && lines[i].starts_with("    "); ++i) html += xml_text(lines[i].substr(4)) + "\n";
            html += "</pre>\n";
        } else if (line.starts_with("|")) {
            html += "<div class=\"scroll\"><table>\n";
            for (std::size_t row = 0; i < lines.size() && lines[i].starts_with("|"); ++i, ++row) {
                if (row == 1 && lines[i].find_first_not_of("|-: ") == std::string_view::npos) continue;
                html += "<tr>";
                for (const std::string& cell : cells(lines[i], link))
                    html += row == 0 ? "<th scope=\"col\">" + cell + "</th>" : "<td>" + cell + "</td>";
                html += "</tr>\n";
            }
            html += "</table></div>\n";
        } else if (item_mark(line) != 0) {
            const char* const list = line[0] == '*' || line[0] == '-' ? "ul" : "ol";
            html += fmt::format("<{}>\n", list);
            while (i < lines.size() && item_mark(lines[i]) != 0) {
                std::string item(lines[i].substr(item_mark(lines[i])));
                for (++i; i < lines.size() && !begins_block(lines[i]); ++i)
                    item += fmt::format("\n{}", trimmed(lines[i]));
                html += fmt::format("<li>{}</li>\n", inline_html(item, link));
            }
            html += fmt::format("</{}>\n", list);
        } else {
            std::string paragraph(line);
            for (++i; i < lines.size() && !begins_block(lines[i]); ++i) paragraph += fmt::format("\n{}", lines[i]);
            html += fmt::format("<p>{}</p>\n", inline_html(paragraph, link));
        }
    }
    return html;
}

} // namespace chalkgrad
