// Reading a graph off a tape, and what its lines hand on.
#include <chalkgrad/autograd/graph/graph.hpp>

#include <algorithm>

#include <chalkgrad/autograd/graph/stream.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>

namespace chalkgrad {
namespace {

/// Whether a linear op mixes streams, the second last axis of x, rather than features: its coefficients stand before x as in A X,
/// or are a square matrix over the streams, or are not on the tape at all.
bool mixes_streams(const Graph& graph, std::size_t line, const GraphEdge& x) {
    const Graph::Operands operands = graph.operands(line);
    const Shape& shape = graph.nodes[x.from].shape;
    if (operands.size() == 1) return true;
    if (shape.rank() < 2) return false;
    const std::size_t streams = shape[shape.rank() - 2];
    for (const GraphEdge& edge : operands) {
        const Shape& other = graph.nodes[edge.from].shape;
        if (edge.from == x.from || other.rank() < 2) continue;
        const bool square = other.last() == streams && other[other.rank() - 2] == streams;
        if (square && (edge.operand < x.operand || streams != shape.last())) return true;
    }
    return false;
}

} // namespace

bool depends(const Graph& graph, std::size_t to, std::size_t from, const std::vector<char>& closed) {
    if (to <= from) return to == from;
    std::vector<char> reached(to - from + 1, 0);
    reached[0] = 1;
    for (std::size_t i = from + 1; i <= to; ++i) {
        if (!closed.empty() && closed[i]) continue;
        for (const GraphEdge& edge : graph.operands(i))
            if (edge.from >= from && reached[edge.from - from]) reached[i - from] = 1;
    }
    return reached[to - from] != 0;
}

bool is_sum(const Graph& graph, std::size_t line) {
    return graph.nodes[line].role == Role::add && graph.operands(line).size() == 2;
}

std::optional<std::size_t> main_operand(const Graph& graph, std::size_t line) {
    const GraphNode& node = graph.nodes[line];
    const auto first = [&](auto fits) -> std::optional<std::size_t> {
        for (const GraphEdge& edge : graph.operands(line))
            if (fits(graph.nodes[edge.from])) return edge.from;
        return {};
    };
    const auto flows = [](const GraphNode& from) { return !from.given; };
    if (const auto same = first([&](const GraphNode& from) { return flows(from) && from.shape == node.shape; }))
        return same;
    return first(flows);
}

std::optional<PassThrough> handed_on(const Graph& graph, std::size_t line) {
    const GraphNode& node = graph.nodes[line];
    const Graph::Operands operands = graph.operands(line);
    const auto x = main_operand(graph, line);
    if (node.is_leaf() || !x) return {};
    const Shape& shape = graph.nodes[*x].shape;
    const GraphEdge& edge =
        *std::find_if(operands.begin(), operands.end(), [&](const GraphEdge& e) { return e.from == *x; });
    // What stands beside x: only numbers and parameters, for `fits`.
    const auto others = [&](auto fits) {
        return std::all_of(operands.begin(), operands.end(), [&](const GraphEdge& e) {
            return e.operand == edge.operand || (graph.nodes[e.from].given && fits(graph.nodes[e.from].shape));
        });
    };
    const auto smaller = [&](const Shape& other) { return other.size() < node.shape.size(); };
    const auto any = [](const Shape&) { return true; };
    const bool same = shape == node.shape;
    if (node.role == Role::structure && others(any) && shape.size() == node.shape.size()) return PassThrough{*x};
    if (node.role == Role::linear && same && mixes_streams(graph, line, edge)) return PassThrough{*x, false, true};
    // These have no role: they are known by name.
    if ((node.op == "cast" || node.op == "stop_gradient") && same) return PassThrough{*x};
    const bool multiple = node.op == "mul" || node.op == "neg" || (node.op == "div" && edge.operand == 0);
    if (multiple && same && others(any)) return PassThrough{*x, others(smaller)}; // of another shape is a mask
    return {};
}

std::vector<char> Graph::scopes_with_adds() const {
    std::vector<char> holds(scopes.size(), 0);
    for (const ResidualAdd& add : residual_adds)
        for (std::size_t s = nodes[add.line].scope; s != 0; s = scopes[s].parent) holds[s] = 1;
    return holds;
}

std::size_t Graph::norm_scope(std::size_t scope) const {
    std::size_t found = 0;
    for (; scope != 0; scope = scopes[scope].parent)
        if (scopes[scope].role == Role::norm) found = scope;
    return found;
}

namespace {

/// Whether an op's result is as given as its operands are. What picks rows out of a table makes data of a parameter.
bool is_given(const Graph& graph, std::size_t line) {
    const GraphNode& node = graph.nodes[line];
    if (node.is_leaf()) return node.kind == GraphNode::Kind::parameter || node.kind == GraphNode::Kind::constant;
    for (const GraphEdge& edge : graph.operands(line)) {
        const GraphNode& from = graph.nodes[edge.from];
        if (!from.given || (node.role == Role::structure && from.shape.size() != node.shape.size())) return false;
    }
    return true;
}

/// By line, whether it is in the list.
std::vector<char> marked(const Tape& tape, const std::vector<std::size_t>& list) {
    std::vector<char> marks(tape.size(), 0);
    for (const std::size_t line : list) {
        if (line >= tape.size())
            throw Error("graph_of: there is no line " + std::to_string(line) + " on a tape of " +
                        std::to_string(tape.size()) + " lines");
        marks[line] = 1;
    }
    return marks;
}

} // namespace

Graph graph_of(const Tape& tape, const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs) {
    const std::vector<char> is_input = marked(tape, inputs), is_output = marked(tape, outputs);
    std::vector<char> is_read(tape.size(), 0);
    Graph graph;
    graph.scopes = tape.state()->scopes;
    graph.first_edge.push_back(0);
    for (std::size_t i = 0; i < tape.size(); ++i) {
        const Line line = tape.line(i);
        for (std::size_t k = 0; k < line.inputs.size(); ++k) {
            if (line.inputs[k] < 0) continue;
            const auto from = static_cast<std::size_t>(line.inputs[k]);
            is_read[from] = 1;
            graph.edges.push_back({from, i, line.input_names[k], k});
        }
        graph.first_edge.push_back(graph.edges.size());
        const GraphNode::Kind kind = is_input[i]                         ? GraphNode::Kind::input
                                     : line.kind == Line::Kind::op       ? GraphNode::Kind::op
                                     : line.kind == Line::Kind::constant ? GraphNode::Kind::constant
                                                                         : GraphNode::Kind::parameter;
        std::optional<double> number;
        if (kind == GraphNode::Kind::constant && line.shape.size() == 1 && !tape.shapes_only())
            number = values_of(tape, i)[0];
        graph.nodes.push_back({i, kind, line.op, line.name, line.attributes, line.shape, line.dtype, line.scope,
            line.role, line.needs_grad, number});
        graph.nodes.back().given = is_given(graph, i);
    }
    for (GraphNode& node : graph.nodes)
        if (node.kind == GraphNode::Kind::op && (outputs.empty() ? !is_read[node.line] : is_output[node.line]))
            node.kind = GraphNode::Kind::output;
    detail::find_stream(graph);
    return graph;
}

Graph graph_of(const Tape& tape) {
    const std::vector<detail::Index>& variables = tape.state()->variables;
    return graph_of(tape, std::vector<std::size_t>(variables.begin(), variables.end()));
}

} // namespace chalkgrad
