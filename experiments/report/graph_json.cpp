// A graph and its topology as JSON.
#include <chalkgrad/experiments/report/graph_json.hpp>
#include <chalkgrad/experiments/report/json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace chalkgrad {
namespace {

const char* name(GraphNode::Kind kind) {
    constexpr const char* names[] = {"input", "parameter", "parameter", "op", "output"}; // a constant is one too
    return names[static_cast<std::size_t>(kind)];
}

std::string id(std::size_t line) { return fmt::format("n{}", line); }

nlohmann::json to_json(const Graph& graph, const GraphNode& node) {
    return {{"id", id(node.line)}, {"op", node.op}, {"label", node.name.empty() ? node.op : node.name},
        {"scope", graph.scope_path(node.scope)},
        {"shape", std::vector<std::size_t>(node.shape.begin(), node.shape.end())},
        {"dtype", chalkgrad::name(node.dtype)}, {"attrs", to_json(node.attributes)}, {"kind", name(node.kind)},
        {"constant", node.kind == GraphNode::Kind::constant}, {"role", chalkgrad::name(node.role)}};
}

nlohmann::json to_json(const Norm& norm) {
    return {{"id", id(norm.line)}, {"reads", id(norm.reads)}, {"op", norm.op}, {"scope", norm.scope},
        {"axis", norm.axis ? nlohmann::json(*norm.axis) : nlohmann::json()}, {"extent", norm.extent},
        {"affine", norm.affine}, {"eps", norm.eps ? json_number(*norm.eps) : nlohmann::json()},
        {"position", chalkgrad::name(norm.position)}, {"final", norm.final}};
}

} // namespace

nlohmann::json to_json(const Graph& graph, const Topology& topology) {
    const auto list = nlohmann::json::array();
    nlohmann::json nodes = list, edges = list, norms = list, adds = list, stacks = list;
    for (const GraphNode& node : graph.nodes) nodes.push_back(to_json(graph, node));
    for (const GraphEdge& edge : graph.edges)
        edges.push_back({{"from", id(edge.from)}, {"to", id(edge.to)}, {"input", edge.input},
            {"kind", edge.residual ? "residual" : "data"}});
    for (const Norm& norm : topology.norms) norms.push_back(to_json(norm));
    for (const ResidualAdd& add : graph.residual_adds) adds.push_back(id(add.line));
    for (const Topology::Stack& stack : topology.stacks)
        stacks.push_back({{"placement", stack.placement}, {"scope", stack.scope}, {"first_add", id(stack.first)},
            {"last_add", id(stack.last)}});
    return {{"nodes", nodes}, {"edges", edges},
        {"topology", {{"placement", topology.placement}, {"evidence", topology.evidence},
                         {"contradictions", topology.contradictions}, {"norms", norms}, {"residual_adds", adds},
                         {"stacks", stacks}}}};
}

} // namespace chalkgrad
