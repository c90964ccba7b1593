// The report of a run as one HTML page.
#include <chalkgrad/experiments/page.hpp>
#include <chalkgrad/experiments/picture.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

constexpr const char* head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>chalkgrad: report</title>
<style>
body { font: 16px/1.5 "DejaVu Sans", Verdana, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
caption { text-align: left; font-weight: bold; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.pass { color: #00664b; } .fail { color: #a84300; font-weight: bold; }
img { max-width: 100%; }
figure { margin: 1rem 0; }
</style>
</head>
<body>
<h1>chalkgrad: report</h1>
)";

std::string text(std::string_view raw) { return xml_text(one_line(raw)); }

std::string row(const std::vector<std::string>& cells) {
    std::string html = "<tr>";
    for (const std::string& cell : cells) html += cell;
    return html + "</tr>\n";
}

std::string cell(std::string_view raw) { return "<td>" + text(raw) + "</td>"; }
std::string cell(double number) { return fmt::format("<td class=\"number\">{:.10g}</td>", number); }

std::string header(const std::vector<const char*>& names) {
    std::string html = "<tr>";
    for (const char* const name : names) html += fmt::format("<th scope=\"col\">{}</th>", name);
    return html + "</tr>\n";
}

std::string section(const Finished& finished) {
    const Report& report = finished.report;
    std::string html = fmt::format("<section id=\"{0}\">\n<h2>{0} (§{1})</h2>\n<p>{2}</p>\n", report.experiment(),
                                   text(finished.experiment.section), text(finished.experiment.question));
    if (!report.numbers().empty()) {
        html += "<table>\n<caption>Numbers</caption>\n" +
                header({"", "value", "expected", "tolerance", "source", "verdict"});
        for (const Report::Number& number : report.numbers()) {
            const char* const verdict = number.holds ? "pass" : "fail";
            html += row({cell(number.name), cell(number.value), cell(number.expected),
                         cell(fmt::format("{:g} {}", number.tolerance.bound,
                                          number.tolerance.is_relative ? "relative" : "absolute")),
                         cell(number.source), fmt::format("<td class=\"{0}\">{0}</td>", verdict)});
        }
        html += "</table>\n";
    }
    if (!report.measured().empty()) {
        html += "<table>\n<caption>Measured</caption>\n" + header({"", "value", "claim"});
        for (const Report::Measured& each : report.measured())
            html += row({cell(each.name), cell(each.value), cell(each.claim)});
        html += "</table>\n";
    }
    if (!report.not_reproduced().empty()) {
        html += "<table>\n<caption>Not reproduced</caption>\n" + header({"", "why"});
        for (const Report::NotReproduced& each : report.not_reproduced())
            html += row({cell(each.name), cell(each.why)});
        html += "</table>\n";
    }
    for (const auto& file : finished.files)
        if (file.extension() == ".svg")
            html += fmt::format("<figure><img src=\"{0}\" alt=\"{0}\"></figure>\n", file.filename().string());
    html += "<p>Files:";
    for (const auto& file : finished.files) html += fmt::format(" <a href=\"{0}\">{0}</a>", file.filename().string());
    return html + "</p>\n</section>\n";
}

}  // namespace

std::string report_page(const std::vector<Finished>& finished) {
    std::size_t numbers = 0, failed = 0;
    std::string list, sections;
    for (const Finished& each : finished) {
        numbers += each.report.numbers().size();
        failed += static_cast<std::size_t>(std::count_if(each.report.numbers().begin(), each.report.numbers().end(),
                                                         [](const Report::Number& number) { return !number.holds; }));
        list += fmt::format("<li><a href=\"#{0}\">{0}</a> (§{1}): {2}</li>\n", each.report.experiment(),
                            text(each.experiment.section), text(each.experiment.question));
        sections += section(each);
    }
    return fmt::format(
        "{}<p>Experiments: {}. Numbers checked: {}, of which {} failed.</p>\n<ul>\n{}</ul>\n{}</body>\n</html>\n", head,
        finished.size(), numbers, failed, list, sections);
}

}  // namespace chalkgrad
