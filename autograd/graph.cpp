// Reading a graph off a tape, and recognising the residual stream in it.
#include <chalkgrad/autograd/graph.hpp>

#include <algorithm>

namespace chalkgrad {
namespace {

/// Whether line `to` is computed from line `from`; looks at lines between them only.
bool depends(const Graph& graph, const std::vector<std::vector<std::size_t>>& inputs, std::size_t to, std::size_t from) {
    if (to <= from) return to == from;
    std::vector<char> reached(graph.nodes.size(), 0);
    reached[from] = 1;
    for (std::size_t i = from + 1; i <= to; ++i)
        reached[i] = std::any_of(inputs[i].begin(), inputs[i].end(), [&](std::size_t k) { return reached[k] != 0; });
    return reached[to] != 0;
}

/// Where an operand comes from when mere scaling is looked through: DeepNorm's α h comes from h.
std::size_t origin(const Graph& graph, const std::vector<std::vector<std::size_t>>& inputs, std::size_t line) {
    for (;;) {
        const GraphNode& node = graph.nodes[line];
        if (node.op == "leaf" || node.role != Role::none) return line;
        std::size_t moving = 0, last = line;
        for (const std::size_t k : inputs[line])
            if (graph.nodes[k].kind != GraphNode::Kind::constant) {
                ++moving;
                last = k;
            }
        if (moving != 1 || inputs[line].size() < 2 || !(graph.nodes[last].shape == node.shape)) return line;
        line = last;
    }
}

} // namespace

Graph graph_of(const Tape& tape, const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs) {
    const auto contains = [](const std::vector<std::size_t>& list, std::size_t i) { return std::find(list.begin(), list.end(), i) != list.end(); };
    Graph graph;
    for (std::size_t i = 0; i < tape.scope_count(); ++i) graph.scopes.push_back(tape.scope_info(i));
    std::vector<std::vector<std::size_t>> reads(tape.size());
    std::vector<char> is_read(tape.size(), 0);
    for (std::size_t i = 0; i < tape.size(); ++i) {
        const Line line = tape.line(i);
        for (std::size_t k = 0; k < line.inputs.size(); ++k) {
            if (line.inputs[k] < 0) continue;
            const auto from = static_cast<std::size_t>(line.inputs[k]);
            reads[i].push_back(from);
            is_read[from] = 1;
            graph.edges.push_back({from, i, line.input_names[k]});
        }
        GraphNode::Kind kind = GraphNode::Kind::op;
        if (line.kind == Line::Kind::constant) kind = GraphNode::Kind::constant;
        if (line.kind == Line::Kind::variable) kind = inputs.empty() ? GraphNode::Kind::input : GraphNode::Kind::parameter;
        if (contains(inputs, i)) kind = GraphNode::Kind::input;
        graph.nodes.push_back({i, kind, line.op, line.name, line.attributes, line.shape, line.dtype, line.scope, line.role});
    }
    for (GraphNode& node : graph.nodes)
        if (node.kind == GraphNode::Kind::op && (outputs.empty() ? !is_read[node.line] : contains(outputs, node.line)))
            node.kind = GraphNode::Kind::output;

    // The stream enters an add as the operand from which the other one was computed.
    for (std::size_t e = 0; e + 1 < graph.edges.size(); ++e) {
        GraphEdge &a = graph.edges[e], &b = graph.edges[e + 1];
        if (a.to != b.to || graph.nodes[a.to].role != Role::add || a.from == b.from) continue;
        if (!(graph.nodes[a.from].shape == graph.nodes[b.from].shape)) continue;
        const std::size_t from_a = origin(graph, reads, a.from), from_b = origin(graph, reads, b.from);
        GraphEdge* stream = depends(graph, reads, b.from, from_a) ? &a : depends(graph, reads, a.from, from_b) ? &b : nullptr;
        if (stream == nullptr) continue;
        stream->residual = true;
        graph.residual_adds.push_back(a.to);
        graph.nodes[a.to].on_stream = graph.nodes[stream->from].on_stream = true;
        graph.nodes[stream == &a ? from_a : from_b].on_stream = true;
    }
    // After the last add the stream runs on, through what alone reads it: the last norm of Post-LN.
    if (!graph.residual_adds.empty())
        for (std::size_t at = graph.residual_adds.back();;) {
            std::vector<std::size_t> readers;
            for (const GraphEdge& edge : graph.edges)
                if (edge.from == at) readers.push_back(edge.to);
            if (readers.size() != 1 || !(graph.nodes[readers[0]].shape == graph.nodes[at].shape)) break;
            at = readers[0];
            graph.nodes[at].on_stream = true;
        }
    // What the stream runs through between two adds is on it too: the norm after the add in Post-LN, the scaling in DeepNorm.
    for (GraphEdge& edge : graph.edges)
        if (graph.nodes[edge.from].on_stream && graph.nodes[edge.to].on_stream && graph.nodes[edge.to].role != Role::add) edge.residual = true;
    return graph;
}

} // namespace chalkgrad
