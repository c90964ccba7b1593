// Taking a computation apart: its tape, the steps of its sweep, and what each op's page says.
#include <chalkgrad/experiments/present/stepping.hpp>

#include <bit>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/autograd/tape/trace.hpp>
#include <chalkgrad/experiments/report/derivation.hpp>
#include <chalkgrad/experiments/report/markdown.hpp>
#include <chalkgrad/experiments/report/tape_json.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {

using nlohmann::json;

namespace {

using Gradients = std::map<std::size_t, std::vector<double>>; // by line

Gradients gradients_of_variables(const Tape& tape) {
    Gradients gradients;
    for (std::size_t i = 0; i < tape.size(); ++i)
        if (tape.line(i).kind == Line::Kind::variable)
            if (auto gradient = gradient_of(tape, i)) gradients[i] = std::move(*gradient);
    return gradients;
}

/// Equal as bits: NaN equals itself, 0 is not −0.
bool same(const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
        [](double x, double y) { return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y); });
}

/// Where the steps end, against what backward() says.
void check_end(const Gradients& gradients, const std::vector<SweepStep>& steps, const Tape& tape) {
    Gradients end;
    for (const SweepStep& step : steps)
        for (const SweepStep::Passed& passed : step.passed) end[passed.line] = passed.gradient;
    for (const auto& [line, gradient] : gradients) {
        const auto found = end.find(line);
        if (found == end.end() ? !steps.empty() : !same(found->second, gradient))
            throw Error(fmt::format("present: the steps end at another gradient of {} than backward()",
                tape.state()->label(static_cast<detail::Index>(line))));
    }
}

json op_json(const std::string& name) {
    json op = {{"formula", ""}, {"forward", json::array()}, {"backward", json::array()}, {"derivation", ""}};
    for (const CatalogEntry& entry : catalog())
        if (name == entry.name) op["formula"] = entry.formula;
    const Derivation& derivation = derivation_of(name);
    op["forward"] = derivation.forward;
    for (const Derivation::Gradient& gradient : derivation.backward) op["backward"].push_back(gradient.latex);
    op["derivation"] = markdown_html(derivation_page(name), 1, [](std::string_view) { return ""; });
    return op;
}

} // namespace

json stepping_json(const TracedComputation& subject) {
    const Tape tape = subject.y.tape();
    tape.zero_grad();
    json document = {{"name", subject.name}, {"title", subject.title}, {"output", subject.y.line()}};
    document["cotangent"] = numbers_json({subject.cotangent.begin(), subject.cotangent.end()});
    document["lines"] = to_json(tape);
    document["ops"] = json::object();
    for (json& line : document["lines"]) {
        line.erase("adjoint");
        if (line["kind"] != "op") continue;
        line["saved"] = numbers_json(saved_of(tape, line["line"]));
        const std::string op = line["op"];
        if (!document["ops"].contains(op)) document["ops"][op] = op_json(op);
    }

    const std::vector<SweepStep> steps = trace_backward(subject.y, subject.cotangent);
    tape.zero_grad();
    subject.y.backward(subject.cotangent);
    const Gradients gradients = gradients_of_variables(tape);
    check_end(gradients, steps, tape);

    document["steps"] = json::array();
    for (const SweepStep& step : steps) {
        json passed = json::array();
        for (const auto& [line, gradient] : step.passed)
            passed.push_back({{"line", line}, {"gradient", numbers_json(gradient)}});
        document["steps"].push_back({{"line", step.line}, {"passed", std::move(passed)}});
    }
    document["gradients"] = json::array();
    for (const auto& [line, gradient] : gradients)
        document["gradients"].push_back({{"line", line}, {"gradient", numbers_json(gradient)}});
    return document;
}

} // namespace chalkgrad
