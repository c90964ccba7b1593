// Reading a graph off a tape, and following the residual stream in it.
#include <chalkgrad/autograd/graph/graph.hpp>

#include <algorithm>
#include <map>

#include <chalkgrad/autograd/tape/numbers.hpp>

namespace chalkgrad {
namespace {

/// A norm, or a part of one that is made of several lines.
bool in_norm(const Graph& graph, const GraphNode& node) {
    return node.role == Role::norm || graph.norm_scope(node.scope) != 0;
}

/// Where a stream ends whose last add this is: behind the norm that alone reads it, else here.
std::size_t end_of_stream(const Graph& graph, std::size_t add) {
    std::size_t end = add, scope = 0;
    for (const GraphEdge& edge : graph.edges) {
        if (edge.from != add) continue;
        const GraphNode& reader = graph.nodes[edge.to];
        const std::size_t its_scope = graph.norm_scope(reader.scope);
        const bool same_norm = end == add || end == edge.to || (scope != 0 && scope == its_scope);
        if (!in_norm(graph, reader) || !same_norm) return add;
        end = edge.to;
        scope = its_scope;
    }
    if (scope != 0)
        for (const GraphNode& node : graph.nodes)
            if (!node.is_leaf() && graph.norm_scope(node.scope) == scope) end = node.line;
    return end;
}

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

using ResidualAdds = std::vector<std::optional<ResidualAdd>>; // by line

/// Whether a line is a residual add, or the sum of one and something else.
bool holds_residual_add(const Graph& graph, std::size_t line, const ResidualAdds& known) {
    const Graph::Operands operands = graph.operands(line);
    return known[line] ||
           (is_sum(graph, line) && std::any_of(operands.begin(), operands.end(),
                                       [&](const GraphEdge& e) { return holds_residual_add(graph, e.from, known); }));
}

/// Of a sum of the stream and something that is no branch, as h + p, the operand that is the stream: `fits`.
template <class F> std::optional<std::size_t> stream_of_sum(const Graph& graph, std::size_t line, F fits) {
    if (is_sum(graph, line))
        for (const GraphEdge& edge : graph.operands(line))
            if (!graph.nodes[edge.from].given && fits(edge.from)) return edge.from;
    return {};
}

/// How an add continues the stream, if it does. `known` holds the residual adds before it, by line. Where each operand could be the
/// stream, as n and h + F(n) could of n + (h + F(n)) with n = N h, it is the one that starts first.
std::optional<ResidualAdd> residual_add(const Graph& graph, std::size_t line, const ResidualAdds& known) {
    constexpr int most_branches = 8; // side by side from one point of the stream
    const Graph::Operands operands = graph.operands(line);
    if (!is_sum(graph, line) || operands[0].from == operands[1].from) return {};
    std::optional<ResidualAdd> found;
    for (const bool swapped : {false, true}) {
        ResidualAdd add;
        add.line = line;
        add.carrier = operands[swapped].from;
        add.branch = operands[!swapped].from;
        if (graph.nodes[add.branch].given || !(graph.nodes[add.carrier].shape == graph.nodes[line].shape)) continue;
        std::size_t at = add.carrier;
        for (int adds = 0; adds < most_branches;) {
            if (depends(graph, add.branch, at)) {
                // Other parts of the branch may read the stream before it was moved into this shape.
                while (graph.nodes[at].role == Role::structure && handed_on(graph, at)) at = handed_on(graph, at)->from;
                add.from = at;
                if (!found || add.from < found->from) found = add;
                break;
            }
            if (known[at]) {
                at = known[at]->carrier;
                add.parallel = true;
                ++adds;
            } else if (const auto handed = handed_on(graph, at)) {
                at = handed->from;
                add.scaled |= handed->scaled && !add.parallel;
                add.mixed |= handed->mixed && !add.parallel;
            } else if (const auto part = stream_of_sum(graph, at, [&](std::size_t operand) {
                           return depends(graph, add.branch, operand) || holds_residual_add(graph, operand, known);
                       })) {
                at = *part;
            } else {
                break;
            }
        }
    }
    return found;
}

/// Whether an add only hands its sum to one other, and so is a part of that one's.
bool is_inside_sum(const Graph& graph, std::size_t add) {
    const auto reads = [&](const GraphEdge& edge) { return edge.from == add; };
    const auto reader = std::find_if(graph.edges.begin(), graph.edges.end(), reads);
    return reader != graph.edges.end() && std::none_of(reader + 1, graph.edges.end(), reads) &&
           is_sum(graph, reader->to) && graph.nodes[reader->to].scope == graph.nodes[add].scope;
}

/// Marks the stream between the trunk's first residual add and its end, as number `stack`.
void mark_stream(Graph& graph, const std::vector<std::size_t>& trunk, const ResidualAdds& known, std::size_t stack) {
    // From the point where the first branch leaves, to the last add and on through what keeps the shape: Post-LN's norm.
    std::size_t begin = trunk.size(), last = 0;
    for (std::size_t k = 0; k < trunk.size(); ++k) {
        if (!known[trunk[k]]) continue;
        const auto from = std::find(trunk.begin(), trunk.end(), known[trunk[k]]->from);
        begin = std::min<std::size_t>(begin, static_cast<std::size_t>(from - trunk.begin()));
        last = k;
        graph.residual_adds.push_back(*known[trunk[k]]);
        graph.residual_adds.back().stack = stack;
    }
    if (begin == trunk.size()) return;
    while (last + 1 < trunk.size() && graph.nodes[trunk[last + 1]].shape == graph.nodes[trunk[last]].shape &&
           (in_norm(graph, graph.nodes[trunk[last + 1]]) || handed_on(graph, trunk[last + 1])))
        ++last;
    for (std::size_t k = begin; k <= last; ++k) {
        graph.nodes[trunk[k]].on_stream = true;
        if (k == begin) continue;
        const Graph::Operands operands = graph.operands(trunk[k]);
        const auto edge =
            std::find_if(operands.begin(), operands.end(), [&](const GraphEdge& e) { return e.from == trunk[k - 1]; });
        if (edge != operands.end()) graph.edges[static_cast<std::size_t>(edge - graph.edges.data())].residual = true;
    }
}

void find_stream(Graph& graph) {
    ResidualAdds known(graph.nodes.size());
    for (const GraphNode& node : graph.nodes) known[node.line] = residual_add(graph, node.line, known);
    std::vector<char> walked(graph.nodes.size(), 0);
    std::size_t trunks = 0;
    const auto follow = [&](std::size_t end) {
        std::vector<std::size_t> trunk;
        std::optional<std::size_t> from; // of the last branch that was passed
        for (std::optional<std::size_t> at = end; at && !walked[*at];) {
            walked[*at] = 1;
            trunk.push_back(*at);
            if (known[*at]) {
                from = known[*at]->from;
                at = known[*at]->carrier;
                continue;
            }
            const auto part = stream_of_sum(graph, *at, [&](std::size_t operand) {
                return from ? depends(graph, operand, *from) : holds_residual_add(graph, operand, known);
            });
            at = part ? part : main_operand(graph, *at);
        }
        std::reverse(trunk.begin(), trunk.end());
        mark_stream(graph, trunk, known, trunks++);
    };
    for (std::size_t i = graph.nodes.size(); i-- > 0;)
        if (graph.nodes[i].kind == GraphNode::Kind::output) follow(i);
    // A stream that the outputs only see through a branch: the encoder beside a decoder. Its adds take the stream as it is.
    if (!graph.residual_adds.empty())
        for (std::size_t i = graph.nodes.size(); i-- > 0;)
            if (known[i] && !walked[i] && known[i]->from == known[i]->carrier && !is_inside_sum(graph, i) &&
                graph.scopes[graph.nodes[i].scope].role == Role::none)
                follow(end_of_stream(graph, i));
    std::sort(graph.residual_adds.begin(), graph.residual_adds.end(),
        [](const ResidualAdd& a, const ResidualAdd& b) { return a.line < b.line; });
    std::map<std::size_t, std::size_t> number; // of a trunk, in the order of their first adds
    for (ResidualAdd& add : graph.residual_adds) add.stack = number.try_emplace(add.stack, number.size()).first->second;
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
            return e.from == *x || (graph.nodes[e.from].given && fits(graph.nodes[e.from].shape));
        });
    };
    const auto smaller = [&](const Shape& other) { return other.size() < node.shape.size(); };
    const auto any = [](const Shape&) { return true; };
    const bool same = shape == node.shape;
    if (node.role == Role::structure && others(any) && shape.size() == node.shape.size()) return PassThrough{*x};
    if (node.role == Role::linear && same && mixes_streams(graph, line, edge)) return PassThrough{*x, false, true};
    if (node.role == Role::none && same && operands.size() > 1 && others(smaller)) return PassThrough{*x, true};
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
    find_stream(graph);
    return graph;
}

Graph graph_of(const Tape& tape) {
    const std::vector<detail::Index>& variables = tape.state()->variables;
    return graph_of(tape, std::vector<std::size_t>(variables.begin(), variables.end()));
}

} // namespace chalkgrad
