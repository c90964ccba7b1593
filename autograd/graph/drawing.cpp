// From a graph to what a picture shows: which scopes are opened, what is folded into what, what is drawn once.
#include <chalkgrad/autograd/graph/drawing.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/text.hpp>
#include <chalkgrad/autograd/graph/repeats.hpp>

namespace chalkgrad {
namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

Box::Look look_of(Role role) {
    using enum Box::Look;
    constexpr Box::Look looks[] = {other, add, linear, norm, activation, activation, attention, other}; // by Role
    return looks[static_cast<std::size_t>(role)];
}

class Drawer {
public:
    Drawer(const Graph& graph, const DrawOptions& options)
        : graph_(graph),
          options_(options),
          by_module_(options.level == DrawOptions::Level::module),
          opened_(opened_scopes(graph, options)),
          repeats_(find_repeats(graph, options.fold_repeats ? opened_ : std::vector<char>(graph.scopes.size(), 0))),
          box_of_(graph.nodes.size(), none) {}

    Drawing draw() {
        make_frames();
        place_ops();
        place_leaves();
        for (std::size_t i = 0; i < box_of_.size(); ++i) box_of_[i] = box_of_[repeats_.stands_for[i]];
        describe_boxes();
        make_arrows();
        if (by_module_) end_in_boxes();
        return std::move(drawing_);
    }

private:
    const GraphNode& node(std::size_t line) const { return graph_.nodes[line]; }
    bool is_drawn(std::size_t line) const { return repeats_.stands_for[line] == line; }

    void make_frames() {
        drawing_.frames.push_back({"drawing", "", 0});
        frame_of_.assign(graph_.scopes.size(), 0);
        // Frames bend a line that runs through them. At module level whole blocks are framed, which hold modules and adds; where every
        // op is drawn, only what hangs off the stream. And at module level a frame around a few ops would only be in the way.
        const std::size_t scopes = graph_.scopes.size();
        const std::vector<char> holds_add = graph_.scopes_with_adds();
        std::vector<char> has_scopes(scopes, 0), on_stream(scopes, 0);
        std::vector<std::size_t> ops(scopes, 0);
        for (std::size_t s = 1; s < scopes; ++s) has_scopes[graph_.scopes[s].parent] = 1;
        for (const GraphNode& n : graph_.nodes) ops[n.scope] += !n.is_leaf();
        for (const GraphNode& n : graph_.nodes)
            for (std::size_t s = n.scope; n.on_stream && s != 0; s = graph_.scopes[s].parent) on_stream[s] = 1;
        for (std::size_t s = 1; s < scopes; ++s) {
            if (!opened_[s] || repeats_.copies[s] == 0) continue;
            frame_of_[s] = frame_of_[graph_.scopes[s].parent];
            if (on_stream[s] && !(by_module_ && has_scopes[s] && holds_add[s])) continue;
            if (by_module_ && !options_.depth && !has_scopes[s]) continue;
            if (ops[s] < 2 && !has_scopes[s]) continue;
            frame_of_[s] = drawing_.frames.size();
            drawing_.frames.push_back({fmt::format("scope-{}", s), framed_title(s), frame_of_[graph_.scopes[s].parent],
                repeats_.copies[s], on_stream[s] != 0});
            framed_.insert(s);
        }
    }
    /// With the names of the scopes around it that have no frame of their own.
    std::string framed_title(std::size_t s) const {
        std::string title = scope_title(s);
        for (s = graph_.scopes[s].parent; s != 0 && !framed_.contains(s); s = graph_.scopes[s].parent)
            title = scope_title(s) + " / " + title;
        return title;
    }
    std::string scope_title(std::size_t s) const {
        const std::string& first = graph_.scopes[s].name;
        if (repeats_.copies[s] < 2) return first;
        const std::string& last = graph_.scopes[repeats_.last[s]].name;
        return first == last ? fmt::format("{} ×{}", first, repeats_.copies[s])
                             : fmt::format("{} … {}: ×{}", first, last, repeats_.copies[s]);
    }

    std::size_t new_box(const std::string& id, Box::Look look, const std::string& title, std::size_t frame) {
        drawing_.boxes.push_back({id, look, title, {}, "", {}, frame});
        return drawing_.boxes.size() - 1;
    }
    std::size_t box_of_line(std::size_t line) {
        const GraphNode& n = node(line);
        Box::Look look = look_of(n.role);
        if (n.is_leaf())
            look = n.kind == GraphNode::Kind::input       ? Box::Look::input
                   : n.kind == GraphNode::Kind::parameter ? Box::Look::parameter
                                                          : Box::Look::constant;
        std::size_t scope = n.scope;
        while (!opened_[scope]) scope = graph_.scopes[scope].parent;
        const bool ends = by_module_ && n.kind == GraphNode::Kind::output; // its name stands at the end of its arrow
        std::string title = n.name.empty() || ends ? n.op : n.name;
        if (n.is_leaf() && n.name.empty())
            title = n.number ? fmt::format("{:.6g}", *n.number) : fmt::format("line {}", line);
        const std::size_t box = new_box(fmt::format("line-{}", line), look,
            look != Box::Look::add ? title
            : n.op == "sub"        ? "−"
                                   : "+",
            frame_of_[scope]);
        if (!n.is_leaf() && look != Box::Look::add && !n.name.empty() && !ends)
            drawing_.boxes[box].notes.push_back({Note::Kind::attribute, n.op});
        return box;
    }

    /// Ops: the box of the outermost scope that is not opened, else one of their own.
    void place_ops() {
        std::map<std::size_t, std::size_t> box_of_scope;
        for (const GraphNode& n : graph_.nodes) {
            if (n.is_leaf() || !is_drawn(n.line)) continue;
            std::size_t closed = none;
            for (std::size_t s = n.scope; s != 0; s = graph_.scopes[s].parent)
                if (!opened_[s]) closed = s;
            if (closed == none) {
                const auto moved = by_module_ && n.role == Role::structure ? handed_on(graph_, n.line) : std::nullopt;
                const bool hidden = moved && box_of_[moved->from] != none; // moving numbers is no step of its own here
                box_of_[n.line] = hidden ? box_of_[moved->from] : box_of_line(n.line);
                continue;
            }
            const auto [at, is_new] = box_of_scope.try_emplace(closed, drawing_.boxes.size());
            if (is_new)
                new_box(fmt::format("scope-{}", closed), Box::Look::other, scope_title(closed),
                    frame_of_[graph_.scopes[closed].parent]);
            box_of_[n.line] = at->second;
        }
    }

    /// Leaves, and at module level what is computed from parameters alone: part of the one box that reads them, else their own.
    void place_leaves() {
        std::vector<std::set<std::size_t>> readers(graph_.nodes.size());
        std::vector<char> repeated(graph_.nodes.size(), 0);
        for (std::size_t i = graph_.nodes.size(); i-- > 0;) { // readers come later on the tape: they are placed first
            const GraphNode& n = node(i);
            const bool candidate = n.is_leaf() || (by_module_ && n.given && box_of_[i] != none &&
                                                      drawing_.boxes[box_of_[i]].id == fmt::format("line-{}", i));
            if (is_drawn(i) && candidate) {
                const bool folds = by_module_ && n.given && readers[i].size() == 1 && n.kind != GraphNode::Kind::output;
                if (folds) {
                    if (!n.is_leaf()) drawing_.boxes[box_of_[i]].id.clear(); // emptied: removed below
                    box_of_[i] = *readers[i].begin();
                    if (n.is_leaf()) parts_[box_of_[i]].push_back(i);
                    if (repeated[i]) shared_.insert(i);
                } else if (n.is_leaf() && (!readers[i].empty() || !repeated[i])) {
                    box_of_[i] = box_of_line(i);
                }
            }
            for (const GraphEdge& edge : graph_.operands(i)) {
                if (!is_drawn(i)) repeated[edge.from] = 1;
                else if (box_of_[i] != none) readers[edge.from].insert(box_of_[i]);
            }
        }
    }

    void describe_boxes() {
        for (const GraphNode& n : graph_.nodes)
            if (is_drawn(n.line) && box_of_[n.line] != none) {
                Box& box = drawing_.boxes[box_of_[n.line]];
                if (!n.is_leaf() || box.id == fmt::format("line-{}", n.line)) box.lines.push_back(n.line);
                box.on_stream |= n.on_stream;
            }
        // In tape order, without those that were folded away.
        std::vector<std::size_t> order;
        for (std::size_t b = 0; b < drawing_.boxes.size(); ++b)
            if (!drawing_.boxes[b].id.empty()) order.push_back(b);
        std::stable_sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return drawing_.boxes[a].lines < drawing_.boxes[b].lines; });
        std::vector<std::size_t> place(drawing_.boxes.size(), none);
        std::vector<Box> boxes;
        for (const std::size_t b : order) {
            place[b] = boxes.size();
            boxes.push_back(std::move(drawing_.boxes[b]));
            describe(boxes.back(), parts_[b]);
        }
        drawing_.boxes = std::move(boxes);
        for (std::size_t& b : box_of_)
            if (b != none) b = place[b];
    }

    void describe(Box& box, std::vector<std::size_t>& parts) {
        std::reverse(parts.begin(), parts.end());
        const bool one = box.id.starts_with("line-");
        if (!one) {
            std::set<Role> roles;
            for (const std::size_t line : box.lines) roles.insert(node(line).role);
            std::size_t scope = static_cast<std::size_t>(std::stoul(box.id.substr(6)));
            const Role own = graph_.scopes[scope].role;
            for (const Role role : {Role::norm, Role::linear, Role::gate, Role::activation, Role::attention})
                if (roles.contains(role)) box.look = look_of(role); // the last that it holds is the most telling
            if (own != Role::none) box.look = look_of(own);
            box.tooltip =
                fmt::format("{}: lines {} to {}", graph_.scope_path(scope), box.lines.front(), box.lines.back());
            std::size_t inner = node(box.lines.front()).scope; // the innermost scope around all lines
            for (const std::size_t line : box.lines)
                while (!graph_.is_inside(node(line).scope, inner)) inner = graph_.scopes[inner].parent;
            if (inner != scope) box.notes.push_back({Note::Kind::attribute, graph_.scopes[inner].name});
            if (box.lines.size() == 1) say_op(box, node(box.lines.front()), true);
        } else {
            const GraphNode& n = node(box.lines.front());
            const std::string in = graph_.scope_path(n.scope);
            box.tooltip = fmt::format("line {}: {}{}{} {}", n.line, n.op, n.name.empty() ? "" : " " + n.name,
                in.empty() ? "" : " in " + in, to_string(n.shape));
            say_op(box, n, false);
        }
        describe_parts(box, parts);
        if (box.lines.size() == 1 && !options_.formulas.empty() &&
            box.look != Box::Look::add) // both operands of an add receive ȳ
            for (const Note& note : options_.formulas.at(box.lines.front())) box.notes.push_back(note);
        if (box.lines.size() > 1 && options_.backward) box.notes.push_back({Note::Kind::gradient, "x̄ = Jᵀ ȳ"});
        // Of several lines the last that is read elsewhere is what the box makes.
        if (!options_.notes.empty())
            for (const Note& note : options_.notes.at(result(box))) box.notes.push_back(note);
    }
    static void say_op(Box& box, const GraphNode& n, bool with_name) {
        std::string text = with_name ? n.op : "";
        for (const auto& [key, value] : n.attributes)
            if (!std::holds_alternative<std::monostate>(value))
                text += (text.empty() ? "" : ", ") + key + " " + to_string(value);
        if (!text.empty()) box.notes.push_back({Note::Kind::attribute, text});
    }
    std::size_t result(const Box& box) const {
        std::size_t line = box.lines.back();
        for (const GraphEdge& edge : graph_.edges)
            if (std::binary_search(box.lines.begin(), box.lines.end(), edge.from) &&
                !std::binary_search(box.lines.begin(), box.lines.end(), edge.to))
                line = edge.from;
        return line;
    }
    void describe_parts(Box& box, const std::vector<std::size_t>& parts) const {
        std::size_t numbers = 0, parameters = 0;
        for (const std::size_t part : parts) {
            if (node(part).kind != GraphNode::Kind::parameter) continue;
            ++parameters;
            numbers += node(part).shape.size();
        }
        if (parameters > 2)
            box.notes.push_back(
                {Note::Kind::parameter, fmt::format("{} parameters: {} numbers", parameters, with_commas(numbers))});
        for (const std::size_t part : parts) {
            const GraphNode& n = node(part);
            const std::string shared = shared_.contains(part) ? " shared" : "";
            if (n.kind == GraphNode::Kind::parameter && parameters <= 2)
                box.notes.push_back({Note::Kind::parameter,
                    fmt::format("{} {}{}", n.name.empty() ? fmt::format("line {}", n.line) : n.name, to_string(n.shape),
                        shared)});
            else if (n.kind == GraphNode::Kind::constant && box.lines.size() == 1)
                box.notes.push_back({Note::Kind::attribute, !n.name.empty() ? n.name
                                                            : n.number      ? fmt::format("{:.6g}", *n.number)
                                                                            : "constant"});
        }
    }

    void make_arrows() {
        std::set<std::pair<std::size_t, std::size_t>> drawn;
        for (const GraphEdge& edge : graph_.edges) {
            if (!is_drawn(edge.to)) continue;
            const std::size_t from = box_of_[edge.from], to = box_of_[edge.to];
            if (from == none || to == none || from == to) continue;
            if (by_module_ && !drawn.insert({from, to}).second) {
                if (edge.residual)
                    for (Arrow& arrow : drawing_.arrows)
                        if (arrow.from == from && arrow.to == to && arrow.look == Arrow::Look::data)
                            arrow.look = Arrow::Look::residual;
                continue;
            }
            const std::string id = fmt::format("edge-{}-{}-{}", edge.from, edge.to, edge.operand);
            const Shape& shape = node(edge.from).shape;
            drawing_.arrows.push_back({from, to, id, shape.rank() == 0 ? "" : to_string(shape),
                edge.residual ? Arrow::Look::residual : Arrow::Look::data});
            if (options_.backward && node(edge.from).needs_grad && node(edge.to).needs_grad)
                drawing_.arrows.push_back({to, from, "co" + id, "", Arrow::Look::cotangent});
        }
    }

    /// The arrow out of a module drawing needs an end, so that the stream is seen to leave.
    void end_in_boxes() {
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            const GraphNode& n = node(i);
            if (n.kind != GraphNode::Kind::output || box_of_[i] == none) continue;
            const std::size_t out =
                new_box(fmt::format("out-{}", i), Box::Look::output, n.name.empty() ? "output" : n.name, 0);
            Box& box = drawing_.boxes[out];
            box.lines = {i};
            box.on_stream = n.on_stream;
            box.tooltip = fmt::format("the result: line {}", i);
            drawing_.arrows.push_back({box_of_[i], out, fmt::format("edge-out-{}", i), to_string(n.shape),
                n.on_stream ? Arrow::Look::residual : Arrow::Look::data});
        }
    }

    const Graph& graph_;
    const DrawOptions& options_;
    const bool by_module_;
    const std::vector<char> opened_;
    const Repeats repeats_;
    std::vector<std::size_t> box_of_, frame_of_;            ///< by line; by scope
    std::map<std::size_t, std::vector<std::size_t>> parts_; ///< the leaves that were folded into a box
    std::set<std::size_t> framed_;                          ///< scopes
    std::set<std::size_t> shared_;                          ///< leaves that alike scopes share
    Drawing drawing_;
};

} // namespace

Drawing draw(const Graph& graph, const DrawOptions& options) { return Drawer(graph, options).draw(); }

} // namespace chalkgrad
