// Norms by their place around the residual adds, and the placement that follows.
#include <chalkgrad/autograd/graph/topology.hpp>

#include <algorithm>
#include <map>

#include <chalkgrad/autograd/graph/topology_words.hpp>

namespace chalkgrad {
namespace {

class Reader {
public:
    explicit Reader(const Graph& graph) : graph_(graph), norm_at_(graph.nodes.size(), none) {
        for (const ResidualAdd& add : graph_.residual_adds) adds_[add.line] = &add;
        find_norms();
        for (Norm& norm : topology_.norms) norm.position = position(norm);
        mark_final();
    }

    Topology read() {
        for (const ResidualAdd& add : graph_.residual_adds) topology_.adds.push_back(placement(add));
        read_stacks();
        const auto& stacks = topology_.stacks;
        const bool agree = std::all_of(
            stacks.begin(), stacks.end(), [&](const auto& stack) { return stack.placement == stacks[0].placement; });
        topology_.placement = stacks.empty() ? "none" : agree ? stacks[0].placement : "mixed";
        detail::explain(graph_, topology_);
        detail::contradict(graph_, topology_);
        return std::move(topology_);
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    const GraphNode& node(std::size_t line) const { return graph_.nodes[line]; }

    // ---- norms

    void find_norms() {
        std::map<std::size_t, std::vector<std::size_t>> by_scope; // scope, or scopes.size() + line for an op alone
        for (const GraphNode& n : graph_.nodes) {
            if (n.op == "leaf") continue;
            if (const std::size_t scope = graph_.norm_scope(n.scope)) by_scope[scope].push_back(n.line);
            else if (n.role == Role::norm) by_scope[graph_.scopes.size() + n.line].push_back(n.line);
        }
        for (auto& [scope, lines] : by_scope) {
            const bool composed = scope < graph_.scopes.size();
            const auto inside =
                std::find_if(lines.begin(), lines.end(), [&](std::size_t l) { return node(l).role == Role::norm; });
            Norm norm;
            norm.line = lines.back();
            norm.lines = lines;
            norm.reads = source(lines);
            norm.op = inside != lines.end() ? node(*inside).op : graph_.scopes[scope].name;
            norm.scope = graph_.scope_path(composed ? scope : node(norm.line).scope);
            norm.extent = node(norm.reads).shape.last();
            norm.affine = false;
            for (const std::size_t line : lines) {
                for (const GraphEdge& edge : graph_.operands(line)) {
                    const GraphNode& other = node(edge.from);
                    const bool number = other.kind == GraphNode::Kind::constant && other.shape.size() == 1; // an ε, a 1
                    norm.affine |= edge.from != norm.reads && !number &&
                                   !std::binary_search(lines.begin(), lines.end(), edge.from);
                }
                for (const auto& [key, value] : node(line).attributes) {
                    const double* const number = std::get_if<double>(&value);
                    if (key == "eps" && number != nullptr) norm.eps = *number;
                    if (key == "axis" && number != nullptr) norm.axis = static_cast<std::ptrdiff_t>(*number);
                }
            }
            // An op without an eps divides by nothing: it stands in a norm's place and works element by element.
            if (!norm.axis && (norm.eps || composed || !node(norm.line).attributes.empty())) norm.axis = -1;
            topology_.norms.push_back(std::move(norm));
        }
        std::sort(topology_.norms.begin(), topology_.norms.end(),
            [](const Norm& a, const Norm& b) { return a.line < b.line; });
        for (std::size_t k = 0; k < topology_.norms.size(); ++k)
            for (const std::size_t line : topology_.norms[k].lines) norm_at_[line] = k;
    }

    /// What the lines of a norm read from outside: the first operand that is no parameter.
    std::size_t source(const std::vector<std::size_t>& lines) const {
        for (const std::size_t line : lines)
            for (const GraphEdge& edge : graph_.operands(line))
                if (!node(edge.from).given && !std::binary_search(lines.begin(), lines.end(), edge.from))
                    return edge.from;
        return graph_.operands(lines[0]).size() > 0 ? graph_.operands(lines[0])[0].from : lines[0];
    }

    // ---- ways through the graph

    /// Back through moving and scaling, to the line whose numbers these are.
    std::size_t origin(std::size_t line) const {
        while (!adds_.contains(line) && norm_at_[line] == none) {
            const auto handed = handed_on(graph_, line);
            if (!handed || handed->mixed) break;
            line = handed->from;
        }
        return line;
    }

    /// The same, and also through what reads one stream out of several: a linear op whose coefficients stand before the stream,
    /// a mean over streams.
    std::size_t read_out(std::size_t line) const {
        for (;;) {
            line = origin(line);
            const Graph::Operands operands = graph_.operands(line);
            auto x = main_operand(graph_, line);
            if (!x || node(line).on_stream || norm_at_[line] != none) return line;
            // Coefficients may be computed from the streams too.
            if (node(line).role == Role::linear && operands.size() == 2 && !node(operands[1].from).given)
                x = operands[1].from;
            const bool first = operands[0].from == *x;
            const bool reads_out =
                (node(line).role == Role::linear && (!first || operands.size() == 1)) ||
                (node(line).role == Role::none && node(*x).shape.last() == node(line).shape.last()) ||
                node(line).role == Role::structure;
            if (!reads_out) return line;
            line = *x;
        }
    }

    bool on_stream(const Norm& norm) const { return node(norm.line).on_stream; }

    Norm::Position position(const Norm& norm) const {
        using Position = Norm::Position;
        if (on_stream(norm)) return adds_.contains(origin(norm.reads)) ? Position::after_add : Position::input;
        if (node(origin(norm.reads)).on_stream) return Position::input;
        for (const ResidualAdd& add : graph_.residual_adds) {
            for (const std::size_t end : ends(add.branch))
                if (norm_at_[end] != none && topology_.norms[norm_at_[end]].line == norm.line) return Position::output;
            if (add.mixed && node(read_out(norm.reads)).on_stream) return Position::input;
        }
        return leads_to_scores(norm) ? Position::qk : Position::inner;
    }

    /// Where a branch comes from just before the add: one line, or two where it is itself the sum of two branches.
    std::vector<std::size_t> ends(std::size_t branch) const {
        const std::size_t at = origin(branch);
        const Graph::Operands operands = graph_.operands(at);
        if (node(at).role != Role::add || operands.size() != 2) return {at};
        if (node(operands[1].from).given) return ends(operands[0].from); // a bias
        return {origin(operands[0].from), origin(operands[1].from)};
    }

    /// Whether the first attention op that a norm's result reaches takes it as queries, keys or scores, not as values.
    bool leads_to_scores(const Norm& norm) const {
        std::vector<char> reached(graph_.nodes.size(), 0);
        reached[norm.line] = 1;
        for (std::size_t i = norm.line + 1; i < graph_.nodes.size(); ++i) {
            if (adds_.contains(i)) return false;
            for (const GraphEdge& edge : graph_.operands(i)) {
                if (!reached[edge.from]) continue;
                if (node(i).role == Role::attention) return edge.input != "v";
                reached[i] = 1;
            }
        }
        return false;
    }

    // ---- stacks

    /// The adds of each stack, as indices.
    std::vector<std::vector<std::size_t>> adds_by_stack() const {
        std::vector<std::vector<std::size_t>> stacks;
        for (std::size_t k = 0; k < graph_.residual_adds.size(); ++k) {
            stacks.resize(std::max(stacks.size(), graph_.residual_adds[k].stack + 1));
            stacks[graph_.residual_adds[k].stack].push_back(k);
        }
        return stacks;
    }

    void read_stacks() {
        for (const std::vector<std::size_t>& adds : adds_by_stack()) {
            std::vector<std::string> placements;
            std::size_t scope = node(graph_.residual_adds[adds[0]].line).scope;
            for (const std::size_t k : adds) {
                placements.push_back(topology_.adds[k]);
                while (!graph_.is_inside(node(graph_.residual_adds[k].line).scope, scope))
                    scope = graph_.scopes[scope].parent;
            }
            topology_.stacks.push_back({agreed(placements), graph_.scope_path(scope),
                graph_.residual_adds[adds.front()].line, graph_.residual_adds[adds.back()].line});
        }
    }

    /// What the adds of a stack make together.
    static std::string agreed(const std::vector<std::string>& adds) {
        if (std::all_of(adds.begin(), adds.end(), [&](const std::string& add) { return add == adds[0]; }))
            return adds[0];
        // Of two adds side by side only the second shows it; the block is parallel as a whole.
        for (std::size_t k = 0; k < adds.size(); ++k)
            if (adds[k] != "parallel" && (adds[k] != "pre" || k + 1 == adds.size() || adds[k + 1] != "parallel"))
                return "mixed";
        return "parallel";
    }

    /// Post-LN has a norm behind every add; the last of a stack of others stands alone.
    void mark_final() {
        for (const std::vector<std::size_t>& adds : adds_by_stack()) {
            const std::size_t last = graph_.residual_adds[adds.back()].line;
            bool others = false, begins = false;
            Norm* behind = nullptr;
            for (Norm& norm : topology_.norms) {
                const auto add = adds_.find(origin(norm.reads));
                if (norm.position == Norm::Position::after_add && add->second->stack == adds_.at(last)->stack) {
                    if (add->first == last) behind = &norm;
                    else others = true;
                }
                for (const std::size_t k : adds) {
                    const ResidualAdd& its = graph_.residual_adds[k];
                    begins |= norm.position == Norm::Position::input && norm.line > its.from && norm.line < its.line &&
                              depends(graph_, its.branch, norm.line);
                }
            }
            if (behind != nullptr) behind->final = adds.size() > 1 ? !others : begins;
        }
    }

    // ---- placements

    struct Around {
        std::vector<const Norm*> input, output, after;
    };
    Around around(const ResidualAdd& add) const {
        Around found;
        for (const Norm& norm : topology_.norms) {
            const bool between = norm.line > add.from && norm.line < add.line;
            if (between && norm.position == Norm::Position::input && !on_stream(norm) &&
                depends(graph_, add.branch, norm.line) && depends(graph_, norm.line, add.from))
                found.input.push_back(&norm);
            if (norm.position == Norm::Position::after_add && !norm.final && origin(norm.reads) == add.line)
                found.after.push_back(&norm);
        }
        for (const std::size_t end : ends(add.branch))
            if (norm_at_[end] != none && topology_.norms[norm_at_[end]].position == Norm::Position::output)
                found.output.push_back(&topology_.norms[norm_at_[end]]);
        // A norm beside a way that has none is no input norm of the branch.
        std::vector<char> closed(graph_.nodes.size(), 0);
        for (const Norm* norm : found.input)
            for (const std::size_t line : norm->lines) closed[line] = 1;
        if (!add.mixed && !found.input.empty() && depends(graph_, add.branch, add.from, closed)) found.input.clear();
        return found;
    }

    bool has_attention(std::size_t from, std::size_t to) const {
        for (std::size_t i = from + 1; i <= to; ++i)
            if (node(i).role == Role::attention && depends(graph_, i, from) && depends(graph_, to, i)) return true;
        return false;
    }
    /// Two branches from one point, one of them attention and the other not; or two of any kind where there is no attention.
    bool side_by_side(const ResidualAdd& add) const {
        if (add.parallel) {
            const auto before = adds_.find(origin(add.carrier));
            if (before == adds_.end()) return true;
            const bool here = has_attention(add.from, add.branch),
                       there = has_attention(before->second->from, before->second->branch);
            return here != there || (!here && !there);
        }
        const std::vector<std::size_t> two = ends(add.branch);
        if (two.size() != 2 || !depends(graph_, two[0], add.from) || !depends(graph_, two[1], add.from))
            return false; // a bias
        return has_attention(add.from, two[0]) != has_attention(add.from, two[1]);
    }

    std::string placement(const ResidualAdd& add) const {
        const Around norms = around(add);
        if (add.mixed) return "mhc";
        if (side_by_side(add)) return "parallel";
        if (!norms.after.empty()) {
            if (!norms.input.empty() || !norms.output.empty()) return "mixed";
            return add.scaled ? "deepnorm" : "post";
        }
        if (!norms.input.empty() && !norms.output.empty()) return "peri";
        return !norms.input.empty() ? "pre" : !norms.output.empty() ? "output_only" : "no_norm";
    }

    const Graph& graph_;
    std::map<std::size_t, const ResidualAdd*> adds_;
    std::vector<std::size_t> norm_at_; ///< index of the norm that a line belongs to
    Topology topology_;
};

} // namespace

const char* name(Norm::Position position) {
    constexpr const char* names[] = {"input", "output", "after_add", "qk", "inner"};
    return names[static_cast<std::size_t>(position)];
}

Topology topology_of(const Graph& graph) { return Reader(graph).read(); }

} // namespace chalkgrad
