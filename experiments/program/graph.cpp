// `chalkgrad graph`: records a block without numbers, reads its graph, and hands it to the writer of the format.
#include <chalkgrad/experiments/program/graph.hpp>

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/dot.hpp>
#include <chalkgrad/autograd/file.hpp>
#include <chalkgrad/autograd/suggest.hpp>
#include <chalkgrad/experiments/json.hpp>
#include <chalkgrad/experiments/picture.hpp>
#include <chalkgrad/experiments/render.hpp>
#include <chalkgrad/nn/residual.hpp>

namespace chalkgrad {
namespace {

const char* name(GraphNode::Kind kind) {
    switch (kind) {
    case GraphNode::Kind::input: return "input";
    case GraphNode::Kind::parameter:
    case GraphNode::Kind::constant: return "parameter";
    case GraphNode::Kind::op: return "op";
    case GraphNode::Kind::output: return "output";
    }
    return "op";
}

std::string scope_path(const Graph& graph, std::size_t scope) {
    std::string path;
    for (; scope != 0; scope = graph.scopes[scope].parent) path = graph.scopes[scope].name + (path.empty() ? "" : "/") + path;
    return path;
}

nlohmann::json to_json(const Graph& graph) {
    nlohmann::json nodes = nlohmann::json::array(), edges = nlohmann::json::array(), adds = nlohmann::json::array();
    const auto id = [](std::size_t line) { return fmt::format("n{}", line); };
    for (const GraphNode& node : graph.nodes) {
        nlohmann::json attributes = nlohmann::json::object();
        for (const auto& [key, value] : node.attributes) attributes[key] = to_string(value);
        nodes.push_back({{"id", id(node.line)}, {"op", node.op}, {"label", node.name.empty() ? node.op : node.name},
                         {"scope", scope_path(graph, node.scope)}, {"shape", std::vector<std::size_t>(node.shape.begin(), node.shape.end())},
                         {"dtype", chalkgrad::name(node.dtype)}, {"attrs", attributes}, {"kind", name(node.kind)}, {"role", chalkgrad::name(node.role)}});
    }
    for (const GraphEdge& edge : graph.edges)
        edges.push_back({{"from", id(edge.from)}, {"to", id(edge.to)}, {"input", edge.input}, {"kind", edge.residual ? "residual" : "data"}});
    for (const std::size_t add : graph.residual_adds) adds.push_back(id(add));
    return {{"nodes", nodes}, {"edges", edges}, {"topology", {{"residual_adds", adds}}}};
}

nn::Placement placement_named(const std::string& block) {
    std::vector<std::string> names;
    for (const nn::Placement p : nn::placements()) {
        if (block == nn::name(p)) return p;
        names.emplace_back(nn::name(p));
    }
    throw Error(fmt::format("graph: there is no block '{}'{}; there are {}", block, did_you_mean(block, names), fmt::join(names, ", ")));
}

} // namespace

int run_graph(const GraphCommand& command) {
    const nn::Placement placement = placement_named(command.block);
    std::string format = command.format.value_or("");
    if (format.empty() && command.output) format = command.output->extension().string().erase(0, 1);
    if (format.empty()) format = "dot";
    require_format("graph", format, {"dot", "svg", "pdf", "png", "json"});

    Tape tape(Tape::Mode::shapes_only);
    const Var<double> x = tape.leaf<double>({16, 64}, nullptr, true, "h");
    nn::stand_in_block(placement, x);
    const Graph graph = graph_of(tape, {x.line()});

    std::string bytes;
    if (format == "json") {
        bytes = json_text(to_json(graph));
    } else {
        bytes = to_dot(graph, fmt::format("{}: {}", nn::name(placement), nn::formula(placement)));
        if (format != "dot") bytes = render_dot(bytes, format);
    }
    if (command.output)
        write_file(*command.output, bytes);
    else if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
        throw Error("graph: standard output cannot be written");
    return 0;
}

} // namespace chalkgrad
