// A computation found, recorded, and taken apart (its tape, the steps of its sweep, what each op's page says); and the page,
// put together from the parts in experiments/present/page.
#include <chalkgrad/experiments/present/present_page.hpp>

#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/autograd/graph/dot.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/autograd/tape/trace.hpp>
#include <chalkgrad/experiments/report/derivation.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/render.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {

using nlohmann::json;

namespace {

/// Draws the cotangent; a single number is a loss, and its cotangent is 1.
TracedComputation subject(
    std::string name, std::string title, Var<double> y, std::vector<std::size_t> inputs, std::uint64_t seed) {
    Generator rng(Seed{seed, 1});
    Array<double> cotangent = rng.standard_normal(y.shape());
    if (y.size() == 1) cotangent.fill(1);
    return {std::move(name), std::move(title), std::move(y), std::move(inputs), std::move(cotangent)};
}

using Gradients = std::map<std::size_t, std::vector<double>>; // by line

/// Equal as bits: NaN equals itself, 0 is not −0.
bool same(const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
        [](double x, double y) { return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y); });
}

/// The gradients of the variables after backward(), where the steps must end too.
Gradients gradients_of_variables(const TracedComputation& subject, const std::vector<SweepStep>& steps) {
    const Tape tape = subject.y.tape();
    tape.zero_grad();
    subject.y.backward(subject.cotangent);
    Gradients end, gradients;
    for (const SweepStep& step : steps)
        for (const SweepStep::Passed& passed : step.passed) end[passed.line] = passed.gradient;
    for (std::size_t i = 0; i < tape.size(); ++i) {
        auto gradient = tape.line(i).kind == Line::Kind::variable ? gradient_of(tape, i) : std::nullopt;
        if (!gradient) continue;
        if (const auto found = end.find(i); found == end.end() ? !steps.empty() : !same(found->second, *gradient))
            throw Error(fmt::format("present: the steps end at another gradient of {} than backward()",
                tape.state()->label(static_cast<detail::Index>(i))));
        gradients[i] = std::move(*gradient);
    }
    return gradients;
}

json op_json(const std::string& name) {
    const auto entry =
        std::find_if(catalog().begin(), catalog().end(), [&](const auto& op) { return name == op.name; });
    const Derivation& derivation = derivation_of(name);
    return {{"formula", entry == catalog().end() ? "" : entry->formula}, {"forward", derivation.forward},
        {"backward", mapped(derivation.backward, [](const auto& gradient) { return gradient.latex; })},
        {"derivation", markdown_html(derivation_page(name), 1, [](std::string_view) { return ""; })}};
}

} // namespace

TracedComputation find_subject(const std::string& command, const std::string& name, std::uint64_t seed) {
    std::vector<std::string> known;
    for (const nn::BlockEntry& block : nn::blocks()) {
        known.push_back(block.name);
        if (name != block.name) continue;
        const nn::Recorded recorded = block.record(Tape(), seed);
        return subject(block.name, block.formula, recorded.output, recorded.input_lines(), seed);
    }
    for (const CatalogEntry& op : catalog()) {
        known.emplace_back(op.name);
        if (name != op.name) continue;
        Generator rng{Seed(seed)};
        return subject(op.name, op.formula, run_sample(op, op.samples(rng).at(0), Tape()), {}, seed);
    }
    for (const Experiment& experiment : experiments()) {
        known.push_back(experiment.name);
        if (name != experiment.name) continue;
        const Var<double> y = Report::tape_of(name, [&](Report& report) { experiment.run(report, {}); });
        if (!y)
            throw Error(
                fmt::format("{}: the experiment '{}' shows no tape of its own; take a block ('chalkgrad list blocks')",
                    command, name));
        y.tape().zero_grad(); // of the experiment's own sweeps
        return subject(name, experiment.question, y, {}, seed);
    }
    throw Error(fmt::format("{}: there is no block, op or experiment '{}'{}; 'chalkgrad list blocks' shows the blocks",
        command, name, did_you_mean(name, known)));
}

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
    const auto arrived = [](const auto& each) {
        const auto& [line, gradient] = each;
        return json{{"line", line}, {"gradient", numbers_json(gradient)}};
    };
    const std::vector<SweepStep> steps = trace_backward(subject.y, subject.cotangent);
    document["steps"] = mapped(steps, [&](const SweepStep& step) {
        return json{{"line", step.line}, {"passed", mapped(step.passed, arrived)}};
    });
    document["gradients"] = mapped(gradients_of_variables(subject, steps), arrived);
    return document;
}

namespace {

/// More would take a minute to draw, and nobody steps through them.
constexpr std::size_t most_lines = 600;

/// Every line of the tape as a box of its own; ids begin with the theme's name.
std::string graph_svg(const Graph& graph, std::string_view theme) {
    DrawOptions draw_options;
    draw_options.level = DrawOptions::Level::op;
    draw_options.fold_repeats = false;
    DotOptions look;
    look.theme = theme == "dark" ? DotOptions::Theme::dark : DotOptions::Theme::light;
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
    const std::string data = stepping_json(subject).dump(-1, ' ', false, json::error_handler_t::replace);
    const std::map<std::string_view, std::string> parts = {{"name", xml_line(subject.name)},
        {"title", xml_line(subject.title)}, {"licence", katex ? katex_licence() : ""},
        {"katex.css", katex ? katex->style : ""}, {"katex.js", katex ? katex->script : ""},
        {"typeset.js", std::string(embedded("experiments/report/typeset.js"))}, {"light", graph_svg(graph, "light")},
        {"dark", graph_svg(graph, "dark")},
        {"data", replaced(data, "<", "\\u003c")}}; // no end tag and no comment can begin in a <script>
    const auto file = [](std::string_view name) {
        return std::string(embedded(fmt::format("experiments/present/page/{}", name)));
    };
    return filled(file("present.html"), "{{", "}}", [&](std::string_view name) {
        const auto part = parts.find(name);
        return part == parts.end() ? file(name) : part->second;
    });
}

} // namespace chalkgrad
