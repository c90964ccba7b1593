// Following the residual stream in a graph: which sums continue it, and where it begins and ends.
#include <chalkgrad/autograd/graph/stream.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace chalkgrad::detail {
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

using ResidualAdds = std::vector<std::optional<ResidualAdd>>; // by line

/// The line whose numbers a line hands on.
std::size_t handed_from(const Graph& graph, std::size_t line) {
    for (auto handed = handed_on(graph, line); handed && !handed->mixed; handed = handed_on(graph, line))
        line = handed->from;
    return line;
}

/// Whether a line is a residual add, or the sum of one and something else.
bool holds_residual_add(const Graph& graph, std::size_t line, const ResidualAdds& known) {
    line = handed_from(graph, line);
    const Graph::Operands operands = graph.operands(line);
    return known[line] ||
           (is_sum(graph, line) && std::any_of(operands.begin(), operands.end(),
                                       [&](const GraphEdge& e) { return holds_residual_add(graph, e.from, known); }));
}

/// Of a sum of the stream and something that is no branch, as h + p, the operand that is the stream: `fits`. Of two points of the
/// stream it is the later one.
template <class F> std::optional<std::size_t> stream_of_sum(const Graph& graph, std::size_t line, F fits) {
    std::optional<std::size_t> found;
    if (is_sum(graph, line))
        for (const GraphEdge& edge : graph.operands(line))
            if (!graph.nodes[edge.from].given && fits(edge.from) &&
                (!found || handed_from(graph, edge.from) > handed_from(graph, *found)))
                found = edge.from;
    return found;
}

/// Whether `line` carries the stream from `point`: nothing is computed on the way but sums.
bool carries(const Graph& graph, std::size_t line, std::size_t point, const ResidualAdds& known) {
    std::vector<std::size_t> ahead{line};
    for (std::set<std::size_t> seen; !ahead.empty();) {
        const std::size_t at = ahead.back();
        ahead.pop_back();
        if (at == point) return true;
        if (at < point || !seen.insert(at).second) continue;
        if (known[at]) ahead.push_back(known[at]->carrier);
        else if (const auto handed = handed_on(graph, at)) ahead.push_back(handed->from);
        else if (is_sum(graph, at))
            for (const GraphEdge& edge : graph.operands(at)) ahead.push_back(edge.from);
    }
    return false;
}

/// How an add continues the stream, if it does. `known` holds the residual adds before it, by line. Where each operand could be the
/// stream, as n and h + F(n) could of n + (h + F(n)) with n = N h, it is the one that starts first. Two points of one stream, as a
/// skip over several blocks adds, are no branch of each other. What is subtracted has the shape of the stream: x − mean(x) has not.
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
        const auto fits = [&](std::size_t operand) { return graph.nodes[operand].shape == graph.nodes[line].shape; };
        const bool minus = graph.nodes[line].op == "sub";
        if (graph.nodes[add.branch].given || !fits(add.carrier) || (minus && !fits(add.branch))) continue;
        const std::size_t added = handed_from(graph, add.branch);
        add.scaled = minus && swapped;
        std::size_t at = add.carrier, passed = 0; // where the branches of the adds passed start
        for (int adds = 0; adds < most_branches;) {
            if (depends(graph, add.branch, at)) {
                // Of h + (h + F h) both are one sum; of a skip over several blocks the branch is the stream itself.
                const bool one_sum = known[added] && known[added]->from == at && passed <= at;
                if (!one_sum && carries(graph, added, at, known)) break;
                // Other parts of the branch may read the stream before it was moved into this shape.
                while (graph.nodes[at].role == Role::structure && handed_on(graph, at)) at = handed_on(graph, at)->from;
                add.from = at;
                if (!found || add.from < found->from) found = add;
                break;
            }
            if (known[at]) {
                passed = std::max(passed, known[at]->from);
                at = known[at]->carrier;
                add.parallel = true;
                ++adds;
            } else if (const auto handed = handed_on(graph, at)) {
                at = handed->from;
                add.scaled |= handed->scaled && !add.parallel;
                add.mixed |= handed->mixed && !add.parallel;
            } else if (const auto part = stream_of_sum(graph, at, [&](std::size_t operand) {
                           return depends(graph, add.branch, handed_from(graph, operand)) ||
                                  holds_residual_add(graph, operand, known);
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

} // namespace

void find_stream(Graph& graph) {
    ResidualAdds known(graph.nodes.size());
    for (const GraphNode& node : graph.nodes) known[node.line] = residual_add(graph, node.line, known);
    std::vector<char> walked(graph.nodes.size(), 0);
    std::size_t trunks = 0;
    const auto end_trunk = [&](std::vector<std::size_t>& trunk) {
        std::reverse(trunk.begin(), trunk.end());
        mark_stream(graph, trunk, known, trunks++);
        trunk.clear();
    };
    // Behind a linear map a stream is another one: a projector, between a vision tower and a language model.
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
            auto part =
                stream_of_sum(graph, *at, [&](std::size_t operand) { return from && depends(graph, operand, *from); });
            if (!part)
                part = stream_of_sum(
                    graph, *at, [&](std::size_t operand) { return holds_residual_add(graph, operand, known); });
            if (!part && graph.nodes[*at].role == Role::linear && !handed_on(graph, *at)) end_trunk(trunk);
            at = part ? part : main_operand(graph, *at);
        }
        end_trunk(trunk);
    };
    for (std::size_t i = graph.nodes.size(); i-- > 0;)
        if (graph.nodes[i].kind == GraphNode::Kind::output) follow(i);
    // A stream that the outputs only see through a branch: the encoder beside a decoder. Its adds take the stream as it is, and are no
    // residual step inside a branch.
    const auto inside_branch = [&](std::size_t line) {
        return std::any_of(graph.residual_adds.begin(), graph.residual_adds.end(), [&](const ResidualAdd& add) {
            return line < add.line && depends(graph, known[line]->from, add.from) && depends(graph, add.branch, line);
        });
    };
    if (!graph.residual_adds.empty())
        for (std::size_t i = graph.nodes.size(); i-- > 0;)
            if (known[i] && !walked[i] && known[i]->from == known[i]->carrier && !is_inside_sum(graph, i) &&
                !inside_branch(i))
                follow(end_of_stream(graph, i));
    std::sort(graph.residual_adds.begin(), graph.residual_adds.end(),
        [](const ResidualAdd& a, const ResidualAdd& b) { return a.line < b.line; });
    std::map<std::size_t, std::size_t> number; // of a trunk, in the order of their first adds
    for (ResidualAdd& add : graph.residual_adds) add.stack = number.try_emplace(add.stack, number.size()).first->second;
}

} // namespace chalkgrad::detail
