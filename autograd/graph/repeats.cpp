// Comparing scopes by what they do.
#include <chalkgrad/autograd/graph/repeats.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

/// What a scope is called, but for numbers, and what its lines do, as text that is equal for alike scopes: operands inside by
/// distance, those outside by shape and kind.
std::string signature(const Graph& graph, std::size_t scope, const std::vector<std::size_t>& lines) {
    // The first of several blocks reads the input, the last makes the output: for what they do both are lines like others.
    const auto kind = [&](std::size_t line) {
        const GraphNode& node = graph.nodes[line];
        return static_cast<int>(node.given ? node.kind : GraphNode::Kind::op);
    };
    std::string text;
    for (const char c : graph.scopes[scope].name)
        if (c < '0' || c > '9') text += c;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const GraphNode& node = graph.nodes[lines[i]];
        text += fmt::format("{}{}{}", node.op, to_string(node.shape), kind(node.line));
        for (const auto& [key, value] : node.attributes) text += fmt::format(",{}={}", key, to_string(value));
        for (const GraphEdge& edge : graph.operands(node.line)) {
            const auto at = std::lower_bound(lines.begin(), lines.end(), edge.from);
            if (at != lines.end() && *at == edge.from)
                text += fmt::format(" -{}", i - static_cast<std::size_t>(at - lines.begin()));
            else text += fmt::format(" {}{}", to_string(graph.nodes[edge.from].shape), kind(edge.from));
        }
        text += ';';
    }
    return text;
}

} // namespace

Repeats find_repeats(const Graph& graph, const std::vector<char>& opened) {
    const std::size_t scopes = graph.scopes.size();
    Repeats found;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) found.stands_for.push_back(i);
    found.copies.assign(scopes, 1);
    for (std::size_t s = 0; s < scopes; ++s) found.last.push_back(s);

    // A scope comes after its parent: one pass upwards gathers the lines, one downwards compares.
    std::vector<std::vector<std::size_t>> lines(scopes), children(scopes);
    for (const GraphNode& node : graph.nodes) lines[node.scope].push_back(node.line);
    for (std::size_t s = scopes; s-- > 1;) {
        std::sort(lines[s].begin(), lines[s].end());
        std::vector<std::size_t>& above = lines[graph.scopes[s].parent];
        if (graph.scopes[s].parent != 0) above.insert(above.end(), lines[s].begin(), lines[s].end());
        children[graph.scopes[s].parent].push_back(s);
    }
    const std::vector<char> holds_add = graph.scopes_with_adds();
    for (std::size_t parent = 0; parent < scopes; ++parent) {
        std::reverse(children[parent].begin(), children[parent].end());
        if (found.copies[parent] == 0) {
            for (const std::size_t child : children[parent]) found.copies[child] = 0;
            continue;
        }
        if (!opened[parent]) continue;
        const std::vector<std::size_t>& siblings = children[parent];
        std::vector<std::string> does;
        for (const std::size_t s : siblings) does.push_back(lines[s].empty() ? "" : signature(graph, s, lines[s]));
        for (std::size_t i = 0, end; i < siblings.size(); i = end) {
            for (end = i + 1; end < siblings.size() && !does[i].empty() && does[end] == does[i];) ++end;
            if (end - i < (holds_add[siblings[i]] ? 2u : 3u)) {
                end = i + 1;
                continue;
            }
            found.copies[siblings[i]] = end - i;
            found.last[siblings[i]] = siblings[end - 1];
            for (std::size_t k = i + 1; k < end; ++k) {
                found.copies[siblings[k]] = 0;
                for (std::size_t n = 0; n < lines[siblings[k]].size(); ++n)
                    found.stands_for[lines[siblings[k]][n]] = lines[siblings[i]][n];
            }
        }
    }
    return found;
}

} // namespace chalkgrad
