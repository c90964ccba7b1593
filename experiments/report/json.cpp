// JSON as other programs may rely on it: of numbers, of what experiments find, of graphs and tapes.
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/plot.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/graph/topology.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>

namespace chalkgrad {

using nlohmann::json;

// ---- numbers and words

json json_number(double number) {
    if (std::isfinite(number)) return number;
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

double number_of(const json& value) {
    if (value.is_number()) return value.get<double>();
    const double inf = std::numeric_limits<double>::infinity();
    return value == "inf" ? inf : value == "-inf" ? -inf : std::numeric_limits<double>::quiet_NaN();
}

std::optional<Attribute> to_attribute(const json& value) {
    if (value.is_null()) return Attribute();
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number()) return value.get<double>();
    if (value.is_string()) return value.get<std::string>();
    const auto is_number = [](const json& item) { return item.is_number(); };
    if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_number)) return {};
    return value.get<std::vector<double>>();
}

json to_json(const Attributes& attributes) {
    json object = json::object();
    for (const auto& [key, value] : attributes) object[key] = to_string(value);
    return object;
}

json numbers_json(const std::vector<double>& numbers) {
    constexpr std::size_t most = 4096;
    const Summary summary = summarize(numbers);
    json object = {{"size", summary.size}, {"min", json_number(summary.least)}, {"max", json_number(summary.most)},
        {"rms", json_number(summary.rms)}, {"not_finite", summary.not_finite}};
    if (numbers.size() <= most) object["numbers"] = mapped(numbers, json_number);
    return object;
}

std::string json_text(const json& document) {
    return document.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

// ---- what experiments find

json to_json(const Table& table) {
    const auto value_of = [](const Cell& cell) {
        const double* const number = std::get_if<double>(&cell.value());
        return number ? json_number(*number) : std::visit([](const auto& value) { return json(value); }, cell.value());
    };
    return {{"name", table.name}, {"columns", table.columns},
        {"rows", mapped(table.rows, [&](const auto& row) { return json(mapped(row, value_of)); })}};
}

json to_json(const Plot& plot) {
    const auto series = [](const Series& each) {
        json one{{"name", each.name}, {"x", mapped(each.x, json_number)}, {"y", mapped(each.y, json_number)}};
        if (!each.low.empty())
            one.update({{"low", mapped(each.low, json_number)}, {"high", mapped(each.high, json_number)}});
        return one;
    };
    const auto axis = [](const Axis& of) { return json{{"label", of.label}, {"log", of.log}}; };
    return {{"name", plot.name}, {"title", plot.title}, {"x", axis(plot.x)}, {"y", axis(plot.y)},
        {"series", mapped(plot.series, series)}};
}

json to_json(const HeatMap& map) {
    json rows = json::array();
    for (std::size_t i = 0; i + map.columns <= map.values.size() && map.columns > 0; i += map.columns)
        rows.push_back(mapped(std::span(map.values).subspan(i, map.columns), json_number));
    return {{"name", map.name}, {"title", map.title}, {"x", map.x_label}, {"y", map.y_label},
        {"value", map.value_label}, {"rows", std::move(rows)}};
}

// ---- graphs and tapes

namespace {

std::string id(std::size_t line) { return fmt::format("n{}", line); }

std::vector<std::size_t> extents(const Shape& shape) { return {shape.begin(), shape.end()}; }

json node_json(const Graph& graph, const GraphNode& node) {
    constexpr const char* kinds[] = {"input", "parameter", "parameter", "op", "output"}; // a constant is one too
    return {{"id", id(node.line)}, {"op", node.op}, {"label", node.name.empty() ? node.op : node.name},
        {"scope", graph.scope_path(node.scope)}, {"shape", extents(node.shape)}, {"dtype", name(node.dtype)},
        {"attrs", to_json(node.attributes)}, {"kind", kinds[static_cast<std::size_t>(node.kind)]},
        {"constant", node.kind == GraphNode::Kind::constant}, {"role", name(node.role)}};
}

json edge_json(const GraphEdge& edge) {
    return {{"from", id(edge.from)}, {"to", id(edge.to)}, {"input", edge.input},
        {"kind", edge.residual ? "residual" : "data"}};
}

json norm_json(const Topology::Norm& norm) {
    return {{"id", id(norm.line)}, {"reads", id(norm.reads)}, {"op", norm.op}, {"scope", norm.scope},
        {"axis", norm.axis ? json(*norm.axis) : json()}, {"extent", norm.extent}, {"affine", norm.affine},
        {"eps", norm.eps ? json_number(*norm.eps) : json()}, {"position", name(norm.position)}, {"final", norm.final}};
}

json stack_json(const Topology::Stack& stack) {
    return {{"placement", stack.placement}, {"scope", stack.scope}, {"first_add", id(stack.first)},
        {"last_add", id(stack.last)}};
}

} // namespace

json to_json(const Graph& graph, const Topology& topology) {
    return {{"nodes", mapped(graph.nodes, [&](const GraphNode& node) { return node_json(graph, node); })},
        {"edges", mapped(graph.edges, edge_json)},
        {"topology",
            {{"placement", topology.placement}, {"evidence", topology.evidence},
                {"contradictions", topology.contradictions}, {"norms", mapped(topology.norms, norm_json)},
                {"residual_adds", mapped(graph.residual_adds, [](const ResidualAdd& add) { return id(add.line); })},
                {"stacks", mapped(topology.stacks, stack_json)}}}};
}

json to_json(const Tape& tape) {
    json lines = json::array();
    for (std::size_t i = 0; i < tape.size(); ++i) {
        const Line line = tape.line(i);
        const auto gradient = gradient_of(tape, i);
        lines.push_back({{"line", i}, {"kind", name(line.kind)}, {"op", line.op}, {"name", line.name},
            {"inputs", line.inputs}, {"input_names", line.input_names}, {"shape", extents(line.shape)},
            {"dtype", name(line.dtype)}, {"attributes", to_json(line.attributes)},
            {"scope", tape.state()->scope_path(static_cast<detail::Index>(line.scope))},
            {"value", tape.shapes_only() ? json() : numbers_json(values_of(tape, i))},
            {"adjoint", gradient ? numbers_json(*gradient) : json()}});
    }
    return lines;
}

} // namespace chalkgrad
