// Writing DOT: one look for every graph.
#include <chalkgrad/autograd/dot.hpp>

#include <cstdint>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

// Okabe and Ito's palette, lightened: told apart by every eye, and still by lightness in grey.
struct Style {
    const char *shape, *fill, *line;
};
Style style(const GraphNode& node) {
    switch (node.kind) {
    case GraphNode::Kind::input: return {"box", "#FFFFFF", "#000000"};
    case GraphNode::Kind::parameter: return {"box", "#F2F2F2", "#8C8C8C"};
    case GraphNode::Kind::constant: return {"box", "#FFFFFF", "#8C8C8C"};
    default: break;
    }
    switch (node.role) {
    case Role::add: return {"circle", "#FFFFFF", "#000000"};
    case Role::norm: return {"box", "#F5C77E", "#B36B00"};
    case Role::linear: return {"box", "#CFE6F5", "#0072B2"};
    case Role::activation:
    case Role::gate: return {"box", "#BFE8DA", "#00795A"};
    case Role::attention: return {"box", "#E9CFE0", "#A33F7B"};
    default: return {"box", "#FFFFFF", "#595959"};
    }
}

std::string label(const GraphNode& node) {
    if (node.role == Role::add) return "+";
    if (node.op == "leaf") return dot_text(node.name.empty() ? fmt::format("line {}", node.line) : node.name);
    std::string text = dot_text(node.op);
    if (!node.name.empty()) text = dot_text(node.name) + "\\n" + text;
    std::string details;
    for (const auto& [key, value] : node.attributes) details += (details.empty() ? "" : ", ") + key + " " + to_string(value);
    if (!details.empty()) text += "\\n" + dot_text(details);
    return text;
}

void write_node(std::string& out, const GraphNode& node, const std::string& indent) {
    const Style s = style(node);
    const bool add = node.role == Role::add && node.op != "leaf";
    out += fmt::format("{}n{} [id=\"line-{}\", label=\"{}\", tooltip=\"{}\", shape={}, style=\"filled{}\", fillcolor=\"{}\", color=\"{}\"", indent, node.line,
                       node.line, label(node), dot_text(node.name.empty() ? node.op : node.name, 2000), s.shape, add ? "" : ",rounded", s.fill, s.line);
    if (add) out += ", width=0.35, fixedsize=true, penwidth=1.6";
    if (node.on_stream) out += ", group=\"stream\"";
    if (node.kind == GraphNode::Kind::parameter || node.kind == GraphNode::Kind::constant) out += ", fontsize=10, height=0.3";
    out += "];\n";
}

void write_scope(std::string& out, const Graph& graph, std::size_t scope, std::size_t depth) {
    const std::string indent(2 * depth + 2, ' ');
    for (const GraphNode& node : graph.nodes)
        if (node.scope == scope) write_node(out, node, indent);
    for (std::size_t child = 1; child < graph.scopes.size(); ++child) {
        if (graph.scopes[child].parent != scope || child == scope) continue;
        out += fmt::format("{0}subgraph cluster_{1} {{\n{0}  id=\"scope-{1}\"; label=\"{2}\";\n{0}  tooltip=\"{3}\";\n", indent, child,
                           dot_text(graph.scopes[child].name), dot_text(graph.scopes[child].name, 2000));
        write_scope(out, graph, child, depth + 1);
        out += indent + "}\n";
    }
}

} // namespace

std::string dot_text(std::string_view text, std::size_t longest) {
    std::string out;
    std::size_t count = 0;
    for (std::size_t i = 0; i < text.size();) {
        if (count++ == longest) return out + "…";
        const auto byte = static_cast<unsigned char>(text[i]);
        const std::size_t length = byte < 0x80 ? 1 : (byte >> 5) == 6 ? 2 : (byte >> 4) == 14 ? 3 : (byte >> 3) == 30 ? 4 : 0;
        std::uint32_t point = length == 1 ? byte : length == 2 ? byte & 31u : length == 3 ? byte & 15u : byte & 7u;
        bool valid = length != 0 && i + length <= text.size();
        for (std::size_t k = 1; valid && k < length; ++k) {
            valid = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
            point = (point << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
        }
        constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        valid = valid && point >= least[length] && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
        if (!valid) {
            out += "\uFFFD";
            ++i;
            continue;
        }
        if (point == '"') out += "\\\"";
        else if (point == '\\') out += "\\\\";
        else if (point == '&') out += "&amp;";
        else if (point == '\n') out += "\\n";
        else if (point < 0x20 || point == 0x7F || point == 0xFFFE || point == 0xFFFF) out += ' ';
        else out += text.substr(i, length);
        i += length;
    }
    return out;
}

std::string to_dot(const Graph& graph, const std::string& title) {
    std::string out = "digraph chalkgrad {\n"
                      "  rankdir=TB; newrank=true; ranksep=0.35; nodesep=0.3; fontname=\"DejaVu Sans\"; fontsize=12; bgcolor=\"#FFFFFF\";\n"
                      "  node [fontname=\"DejaVu Sans\", fontsize=12, margin=\"0.12,0.06\", height=0.38];\n"
                      "  edge [fontname=\"DejaVu Sans\", fontsize=9, color=\"#595959\", fontcolor=\"#595959\", arrowsize=0.7];\n";
    if (!title.empty()) out += fmt::format("  label=\"{}\"; labelloc=t; fontsize=16;\n", dot_text(title));
    // Clusters are drawn lightly: the stream and the norms are what one must see.
    std::string body;
    write_scope(body, graph, 0, 0);
    out += "  graph [style=\"rounded\", color=\"#BFBFBF\", fontcolor=\"#595959\"];\n" + body;
    for (std::size_t e = 0, operand = 0; e < graph.edges.size(); ++e) {
        const GraphEdge& edge = graph.edges[e];
        operand = e > 0 && graph.edges[e - 1].to == edge.to ? operand + 1 : 0;
        const GraphNode& from = graph.nodes[edge.from];
        out += fmt::format("  n{0} -> n{1} [id=\"edge-{0}-{1}-{2}\", label=\"{3}\"", edge.from, edge.to, operand, to_string(from.shape));
        if (edge.residual) out += ", penwidth=3.2, color=\"#000000\", weight=100, class=\"residual\"";
        out += "];\n";
    }
    return out + "}\n";
}

} // namespace chalkgrad
