// The report of a run as one HTML page: parts for the sections of the course, in them the experiments.
#include <chalkgrad/autograd/base/text.hpp>
#include <chalkgrad/experiments/report/derivation.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/html.hpp>
#include <chalkgrad/experiments/report/page.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/version.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace chalkgrad {
namespace {

/// What the course calls its sections; other sections go by their number alone.
std::string_view section_title(std::string_view section) {
    static constexpr std::pair<std::string_view, std::string_view> titles[] = {
        {"1", "The three jobs surrounding attention"},
        {"2", "How the block evolved"},
        {"3", "Three useful classical analogies"},
        {"4", "A block makes two successive residual updates"},
        {"5", "What LayerNorm and RMSNorm compute"},
        {"6", "Placement changes the computation graph"},
        {"7", "Q/K normalization: check the equation and the axis"},
        {"8", "Why a gate adds a matrix"},
        {"9", "Budgeting SwiGLU and reading its variants"},
        {"10", "From tensor shapes to 8,030,261,248 parameters"},
        {"11", "Element-wise alternatives: DyT and DyISRU"},
        {"12", "Several residual streams: what mHC constrains"},
        {"15", "Reading gpt-oss from code"},
    };
    for (const auto& [number, title] : titles)
        if (number == section) return title;
    return {};
}

/// A part of the page: what belongs to section 6, or to 6.2 and the like.
struct Chapter {
    std::string section;
    std::vector<const Finished*> experiments = {};
};

/// In the order of their first experiments.
std::vector<Chapter> chapters_of(const std::vector<Finished>& finished) {
    std::vector<Chapter> chapters;
    for (const Finished& each : finished) {
        const std::string section = each.experiment.section.substr(0, each.experiment.section.find('.'));
        auto chapter = std::ranges::find(chapters, section, &Chapter::section);
        if (chapter == chapters.end()) chapter = chapters.insert(chapter, {section});
        chapter->experiments.push_back(&each);
    }
    return chapters;
}

/// The id of a chapter's part of the page.
std::string anchor(const Chapter& chapter) {
    std::string id = "section-";
    for (const char c : chapter.section) id += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
    return id;
}

std::string heading(const Chapter& chapter) {
    if (chapter.section.empty()) return "Experiments";
    return fmt::format("<span class=\"section-number\">§{}</span>{}", xml_line(chapter.section),
        xml_line(section_title(chapter.section)));
}

// ---- numbers

/// A number as a person reads it: whole ones whole, others with `digits` significant digits.
std::string shown(double number, int digits = 7) {
    const bool whole = std::abs(number) < 1e15 && number == std::round(number);
    std::string said = whole ? fmt::format("{:.0f}", number) : fmt::format("{:.{}g}", number, digits);
    std::string power;
    if (const std::size_t e = said.find('e'); e != std::string::npos) {
        power = fmt::format("10<sup>{}</sup>", std::stoi(said.substr(e + 1)));
        said.resize(e);
    }
    if (std::isfinite(number)) said = with_commas(std::move(said));
    if (!power.empty()) said = said == "1" ? power : said + " · " + power;
    return replaced(said, "-", "−");
}

std::string shown(Tolerance tolerance) {
    if (tolerance.bound == 0) return "exact";
    return fmt::format("± {}{}", shown(tolerance.bound, 2), tolerance.is_relative ? " of it" : "");
}

std::string verdict(bool holds) {
    return holds ? "<td class=\"verdict pass\">✓ pass</td>" : "<td class=\"verdict fail\">✗ FAIL</td>";
}

// ---- tables

struct Column {
    std::string_view name;
    bool is_number;
    Column(std::string_view name, bool is_number = false) : name(name), is_number(is_number) {}
};

std::string cell(std::string_view raw) { return fmt::format("<td>{}</td>", xml_line(raw)); }
std::string number_cell(const std::string& html) { return fmt::format("<td class=\"number\">{}</td>", html); }

/// A table; `row` makes the cells of each of the items.
template <class Items, class Row>
std::string html_table(std::string_view caption, const std::vector<Column>& columns, const Items& items, Row row) {
    std::string html =
        fmt::format("<div class=\"scroll\"><table>\n<caption>{}</caption>\n<thead><tr>", xml_line(caption));
    for (const Column& column : columns)
        html += fmt::format(
            "<th scope=\"col\"{}>{}</th>", column.is_number ? " class=\"number\"" : "", xml_line(column.name));
    html += "</tr></thead>\n<tbody>\n";
    for (const auto& item : items) html += fmt::format("<tr>{}</tr>\n", row(item));
    return html + "</tbody></table></div>\n";
}

std::string folded(std::string_view summary, std::string_view html) {
    return fmt::format("<details><summary>{}</summary>\n{}</details>\n", summary, html);
}

std::string table_of(const std::vector<const Report::Number*>& numbers) {
    return html_table("Numbers",
        {{""}, {"here", true}, {"expected", true}, {"tolerance", true}, {"stated by"}, {"verdict"}}, numbers,
        [](const Report::Number* each) {
            return cell(each->name) + number_cell(shown(each->value)) + number_cell(shown(each->expected)) +
                   number_cell(shown(each->tolerance)) + cell(each->source) + verdict(each->holds);
        });
}

/// What failed is always in sight; a long list of what holds is folded.
std::string numbers(const Report& report) {
    std::vector<const Report::Number*> holding, failed;
    for (const Report::Number& each : report.numbers()) (each.holds ? holding : failed).push_back(&each);
    const std::string html = failed.empty() ? "" : table_of(failed);
    if (holding.empty()) return html;
    if (holding.size() <= 30) return html + table_of(holding);
    return html + folded(fmt::format("{} numbers, {} within their tolerances", holding.size(),
                             failed.empty() ? "all" : "these"),
                      table_of(holding));
}

std::string measured(const Report& report) {
    if (report.measured().empty()) return "";
    return html_table("Measured here", {{""}, {"here", true}, {"what it speaks for"}}, report.measured(),
        [](const auto& each) { return cell(each.name) + number_cell(shown(each.value)) + cell(each.claim); });
}

std::string not_reproduced(const Report& report) {
    if (report.not_reproduced().empty()) return "";
    return html_table("Not reproduced here", {{""}, {"why"}}, report.not_reproduced(),
        [](const auto& each) { return cell(each.name) + cell(each.why); });
}

std::string table(const Table& table) {
    const auto as_cell = [](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) return cell(value);
        else return fmt::format("<td>{}</td>", shown(static_cast<double>(value)));
    };
    const std::string html = html_table(
        table.name, {table.columns.begin(), table.columns.end()}, table.rows, [&](const std::vector<Cell>& row) {
            std::string cells;
            for (const Cell& each : row) cells += std::visit(as_cell, each.value());
            return cells;
        });
    if (table.rows.size() <= 24) return html;
    return folded(fmt::format("Table {}: {} rows", xml_line(table.name), table.rows.size()), html);
}

// ---- an experiment

/// The files of that name, whatever they end in.
std::string downloads(const Finished& finished, const std::string& stem) {
    std::string html;
    for (const auto& file : finished.files)
        if (file.stem() == stem)
            html += fmt::format("{}<a href=\"{}\">{}</a>", html.empty() ? "" : " · ", file.filename().string(),
                file.extension().string().substr(1));
    return html;
}

std::string pictures(const Finished& finished) {
    std::string html;
    for (const Report::File& each : finished.pictures) {
        const bool plot = each.bytes.find("gnuplot_canvas") != std::string::npos;
        const std::string stem = each.name.substr(0, each.name.rfind('.'));
        html += fmt::format("<figure class=\"{}\">\n{}\n<figcaption>{}</figcaption></figure>\n",
            plot ? "plot" : "graph", inline_svg(each.bytes, stem + "-"), downloads(finished, stem));
    }
    return html;
}

/// The ops with a derivation that the listing calls, in the order of the catalogue.
std::vector<std::string> ops_of(const Finished& finished) {
    std::set<std::string_view> called;
    std::string_view before, word; // a word, and what stands before it
    scan_code(finished.experiment.listing, [&](std::string_view piece, char) {
        if ((piece == "(" || piece == "<") && before != "." && before != ":") called.insert(word);
        before = word;
        word = piece;
    });
    std::vector<std::string> ops;
    for (const CatalogEntry& op : catalog())
        if (called.contains(op.name) && !derivation_page(op.name).empty()) ops.emplace_back(op.name);
    return ops;
}

std::string code(const Finished& finished) {
    const std::string& listing = finished.experiment.listing;
    if (listing.empty()) return "";
    return folded(fmt::format("The code: {} lines", std::count(listing.begin(), listing.end(), '\n')),
        fmt::format("<pre><code>{}</code></pre>", listing_html(listing)));
}

std::string links(const Finished& finished) {
    std::string html;
    for (const std::string& op : ops_of(finished))
        html += fmt::format("{}<a href=\"#derivation-{}\">{}</a>", html.empty() ? "Derivations: " : " · ", op, op);
    if (!html.empty()) html += "<br>\n";
    std::string files = downloads(finished, finished.experiment.name);
    if (!files.empty()) files.insert(0, "All numbers: ");
    for (const auto& file : finished.files)
        if (file.extension() == ".npy") files += fmt::format(" · <a href=\"{0}\">{0}</a>", file.filename().string());
    return html.empty() && files.empty() ? "" : fmt::format("<p class=\"links\">{}{}</p>\n", html, files);
}

std::string article(const Finished& finished) {
    const Report& report = finished.report;
    std::string about = report.experiment();
    if (!finished.experiment.section.empty()) about += " · §" + xml_line(finished.experiment.section);
    if (!report.command().empty()) about += fmt::format(" · <code>{}</code>", xml_line(report.command()));
    std::string html = fmt::format("<article id=\"{}\">\n<h3>{}</h3>\n<p class=\"about\">{}</p>\n", report.experiment(),
        xml_line(finished.experiment.question), about);
    html += pictures(finished) + numbers(report);
    for (const Table& each : report.tables()) html += table(each);
    return html + measured(report) + not_reproduced(report) + links(finished) + code(finished) + "</article>\n";
}

// ---- the page

std::string lead(const std::vector<Chapter>& chapters) {
    std::size_t experiments = 0, count = 0;
    std::vector<std::string> failed;
    for (const Chapter& chapter : chapters)
        for (const Finished* const each : chapter.experiments) {
            ++experiments;
            count += each->report.numbers().size();
            for (const Report::Number& number : each->report.numbers())
                if (!number.holds)
                    failed.push_back(
                        fmt::format("<a href=\"#{0}\">{0}: {1}</a>", each->experiment.name, xml_line(number.name)));
        }
    const std::string verdict = count == 0       ? ""
                                : failed.empty() ? "<strong class=\"pass\">✓ all hold</strong>."
                                                 : fmt::format("<strong class=\"fail\">✗ {} failed</strong>: {}.",
                                                       failed.size(), fmt::join(failed, ", "));
    return fmt::format("<p class=\"lead\">Experiments: {}. {} {}</p>\n", experiments,
        count == 0 ? "No number was checked."
                   : fmt::format("Numbers checked: {}, of which {} failed.", count, failed.size()),
        verdict);
}

std::string contents(const std::vector<Chapter>& chapters) {
    std::string html;
    for (const Chapter& chapter : chapters) {
        html += fmt::format("<li><a href=\"#{}\">{}</a>\n<ol>\n", anchor(chapter), heading(chapter));
        for (const Finished* const each : chapter.experiments)
            html += fmt::format("<li>{} <a href=\"#{}\">{}</a></li>\n",
                each->report.numbers().empty() ? ""
                : each->report.holds()         ? "<span class=\"pass\">✓</span>"
                                               : "<span class=\"fail\">✗</span>",
                each->experiment.name, xml_line(each->experiment.question));
        html += "</ol></li>\n";
    }
    return "<nav aria-label=\"Contents\">\n<ol>\n" + html + "</ol>\n</nav>\n";
}

std::string derivations(const std::vector<Finished>& finished) {
    std::set<std::string, std::less<>> used;
    for (const Finished& each : finished)
        for (std::string& op : ops_of(each)) used.insert(std::move(op));
    const auto link = [&](std::string_view target) {
        const std::string_view op = target.substr(0, target.find(".md"));
        return used.contains(op) ? fmt::format("#derivation-{}", op) : "";
    };
    std::string html;
    for (const CatalogEntry& op : catalog())
        if (used.contains(op.name))
            html += fmt::format("<details id=\"derivation-{0}\"><summary>{0}: {1}</summary>\n{2}</details>\n", op.name,
                xml_line(op.formula), markdown_html(derivation_page(op.name), 2, link));
    return html.empty() ? "" : fmt::format("<section id=\"derivations\">\n<h2>Derivations</h2>\n{}</section>\n", html);
}

/// A derivation's formulas are typeset when it is opened: all at once would take a second.
std::string formulas_script(const Katex& katex) {
    return fmt::format(
        "<script>{}</script>\n<script>\n{}\nfor (const each of document.querySelectorAll('#derivations "
        "details'))\n    each.addEventListener('toggle', () => typeset(each));\n</script>\n",
        katex.script, embedded("experiments/report/typeset.js"));
}

} // namespace

std::string report_page(const std::vector<Finished>& all, const std::optional<Katex>& katex) {
    const std::vector<Chapter> chapters = chapters_of(all);
    std::string parts;
    for (const Chapter& chapter : chapters) {
        parts += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", anchor(chapter), heading(chapter));
        for (const Finished* const each : chapter.experiments) parts += article(*each);
        parts += "</section>\n";
    }
    const std::string derived = derivations(all);
    const bool typeset = katex && !derived.empty();
    return fmt::format(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'{}">
<title>chalkgrad: report</title>
{}<style>
{}</style>
</head>
<body>
<header>
<h1>What the experiments found</h1>
{}</header>
{}<main>
{}{}</main>
<footer>Made by chalkgrad {}. Equal findings give an equal page, to the byte.</footer>
{}</body>
</html>
)",
        typeset ? "; script-src 'unsafe-inline'; font-src data:" : "",
        typeset ? fmt::format("{}<style>{}</style>\n", katex_licence(), katex->style) : "",
        embedded("experiments/report/report.css"), lead(chapters), contents(chapters), parts, derived,
        CHALKGRAD_VERSION, typeset ? formulas_script(*katex) : "");
}

} // namespace chalkgrad
