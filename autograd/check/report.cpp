// What gradcheck says: in words, and as JSON for other programs.
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/check/report_json.hpp>

namespace chalkgrad {

const char* name(Verdict verdict) {
    constexpr const char* names[] = {"pass", "fail", "kink", "inconclusive"};
    return names[static_cast<std::size_t>(verdict)];
}

std::string to_string(const GradcheckReport& report) {
    std::string text = fmt::format(
        "{}: {} elements{}, {} wrong; against differences {:.2g}, dual numbers {:.2g}, transpose identity {:.2g}{}, "
        "second order {:.2g}\n",
        name(report.verdict), report.elements, report.projected ? " along random directions" : "", report.failed,
        report.difference, report.dual, report.transpose,
        report.identity ? fmt::format(", known identities {:.2g}", *report.identity) : "", report.second_order);
    const JacobianElement& w = report.worst;
    if (report.failed > 0 || w.relative_error > w.tolerance)
        text += fmt::format(
            "  worst: {}, d {}[{}] / d {}[{}]: backward {:.17g}, differences {:.17g}, relative error {:.2g}, tolerance "
            "{:.2g}\n",
            w.op, w.output, fmt::join(w.output_index, ", "), w.input, fmt::join(w.index, ", "), w.analytic, w.numeric,
            w.relative_error, w.tolerance);
    for (const Kink& kink : report.kinks)
        text +=
            fmt::format("  kink{}: {}[{}] → [{}]: slopes {:.6g} (left), {:.6g} (right); the backward takes {:.6g}\n",
                kink.declared ? "" : " that no op declares", kink.input, fmt::join(kink.index, ", "),
                fmt::join(kink.output_index, ", "), kink.left, kink.right, kink.analytic);
    for (const std::string& sentences : {report.why, report.notes})
        if (!sentences.empty()) text += "  " + sentences + "\n";
    return text;
}

std::ostream& operator<<(std::ostream& out, const GradcheckReport& report) { return out << to_string(report); }

namespace {

/// JSON has no such numbers, and null would hide which it was.
nlohmann::json number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

} // namespace

nlohmann::json detail::json_of(const Array<double>& array) {
    nlohmann::json numbers = nlohmann::json::array();
    for (const double v : array) numbers.push_back(number(v));
    return {{"shape", std::vector<std::size_t>(array.shape().begin(), array.shape().end())}, {"numbers", numbers}};
}

nlohmann::json detail::json_of(const GradcheckReport& report) {
    const JacobianElement& w = report.worst;
    nlohmann::json kinks = nlohmann::json::array(), blame = kinks, proposal = kinks;
    for (const Kink& kink : report.kinks)
        kinks.push_back({{"input", kink.input}, {"index", kink.index}, {"output_index", kink.output_index},
            {"left", number(kink.left)}, {"right", number(kink.right)}, {"analytic", number(kink.analytic)},
            {"convention", number(kink.convention)}, {"declared", kink.declared}});
    for (const Blame& b : report.blame)
        blame.push_back({{"line", b.line}, {"op", b.op}, {"scope", b.scope}, {"input", b.input},
            {"error", number(b.error)}, {"hint", b.hint}});
    for (const Array<double>& array : report.proposal) proposal.push_back(json_of(array));
    return {{"verdict", name(report.verdict)},
        {"worst", {{"op", w.op}, {"output", w.output}, {"output_index", w.output_index}, {"input", w.input},
                      {"index", w.index}, {"analytic", number(w.analytic)}, {"numeric", number(w.numeric)},
                      {"relative_error", number(w.relative_error)}, {"tolerance", number(w.tolerance)}}},
        {"oracles", {{"difference", number(report.difference)}, {"dual", number(report.dual)},
                        {"transpose", number(report.transpose)},
                        {"identity", number(std::max(report.identity.value_or(0), report.transpose))},
                        {"second_order", number(report.second_order)}}},
        {"identities_declared", report.identity.has_value()}, {"elements", report.elements},
        {"failed_elements", report.failed}, {"projected", report.projected}, {"resolution", number(report.resolution)},
        {"why", report.why}, {"notes", report.notes}, {"text", to_string(report)}, {"blame", blame}, {"kinks", kinks},
        {"proposal", proposal}};
}

std::string to_json(const GradcheckReport& report) { return detail::text_of(detail::json_of(report)); }

std::string detail::text_of(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace chalkgrad
