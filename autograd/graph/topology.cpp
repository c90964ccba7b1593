// Norms by their place around the residual adds, and the placement that follows.
#include <chalkgrad/autograd/graph/topology.hpp>

#include <algorithm>
#include <map>

#include <chalkgrad/autograd/graph/topology_words.hpp>

namespace chalkgrad {
namespace {

using Norm = Topology::Norm;

class Reader {
public:
    explicit Reader(const Graph& graph) : graph_(graph), norm_at_(graph.nodes.size(), none) {
        for (const ResidualAdd& add : graph_.residual_adds) adds_[add.line] = &add;
        find_norms();
        find_sums();
        for (Norm& norm : topology_.norms) norm.position = position(norm);
        mark_final();
    }

    Topology read() {
        for (const Sum& sum : sums_) read_sum(sum);
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

    // ---- sums

    /// One sum of the stream and its branches, however it is bracketed.
    struct Sum {
        std::vector<std::size_t> adds; ///< as indices, in tape order
    };

    /// Adds whose branches start at the same point of the stream are one sum.
    void find_sums() {
        std::map<std::size_t, std::size_t> sum_of; // by line
        for (std::size_t k = 0; k < graph_.residual_adds.size(); ++k) {
            const ResidualAdd& add = graph_.residual_adds[k];
            const auto before = add.parallel ? add_of(add.carrier) : std::nullopt;
            const std::size_t sum = before ? sum_of.at(*before) : sums_.size();
            if (!before) sums_.emplace_back();
            sum_of[add.line] = sum;
            sums_[sum].adds.push_back(k);
        }
    }
    /// The residual add whose numbers a line hands on, other summands aside.
    std::optional<std::size_t> add_of(std::size_t line) const {
        const std::size_t at = origin(line);
        if (adds_.contains(at)) return at;
        if (is_sum(graph_, at))
            for (const GraphEdge& edge : graph_.operands(at))
                if (const auto found = add_of(edge.from)) return found;
        return {};
    }

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

    /// Whether a line is the stream, or hands it on.
    bool reads_stream(std::size_t line) const {
        for (const std::size_t from = origin(line); line != from && !node(line).on_stream;)
            line = handed_on(graph_, line)->from;
        return node(line).on_stream;
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
        if (reads_stream(norm.reads)) return Position::input;
        for (const ResidualAdd& add : graph_.residual_adds) {
            for (const std::size_t end : ends(add))
                if (norm_at_[end] != none && topology_.norms[norm_at_[end]].line == norm.line) return Position::output;
            if (add.mixed && node(read_out(norm.reads)).on_stream) return Position::input;
        }
        return leads_to_scores(norm) ? Position::qk : Position::inner;
    }

    /// Where the branches that an add takes in come from just before it: one line, or several where they were added up before. What
    /// a module adds up inside is one branch.
    std::vector<std::size_t> ends(const ResidualAdd& add) const {
        std::vector<std::size_t> found;
        const auto collect = [&](const auto& self, std::size_t line) -> void {
            const std::size_t at = origin(line);
            if (node(at).given || node(at).on_stream || !depends(graph_, at, add.from))
                return; // a bias, or another input
            if (!is_sum(graph_, at) || adds_.contains(at) || node(at).scope != node(add.line).scope)
                found.push_back(at);
            else
                for (const GraphEdge& edge : graph_.operands(at)) self(self, edge.from);
        };
        collect(collect, add.branch);
        return found;
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
            const bool agree = std::all_of(
                placements.begin(), placements.end(), [&](const std::string& p) { return p == placements[0]; });
            topology_.stacks.push_back({agree ? placements[0] : "mixed", graph_.scope_path(scope),
                graph_.residual_adds[adds.front()].line, graph_.residual_adds[adds.back()].line});
        }
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

    /// The norms of one branch, from the stream to its end.
    struct Around {
        bool input = false, output = false;
        const char* placement() const {
            return input && output ? "peri" : input ? "pre" : output ? "output_only" : "no_norm";
        }
    };
    Around around(const ResidualAdd& add, std::size_t end) const {
        Around found;
        std::vector<char> closed(graph_.nodes.size(), 0);
        for (const Norm& norm : topology_.norms) {
            if (norm.line <= add.from || norm.line > end || norm.position != Norm::Position::input || on_stream(norm) ||
                !depends(graph_, end, norm.line) || !depends(graph_, norm.line, add.from))
                continue;
            found.input = true;
            for (const std::size_t line : norm.lines) closed[line] = 1;
        }
        // A norm beside a way that has none is no input norm of the branch.
        if (!add.mixed && found.input && depends(graph_, end, add.from, closed)) found.input = false;
        found.output = norm_at_[end] != none && topology_.norms[norm_at_[end]].position == Norm::Position::output;
        return found;
    }
    bool norm_behind(const Sum& sum) const {
        const std::size_t line = graph_.residual_adds[sum.adds.back()].line;
        return std::any_of(topology_.norms.begin(), topology_.norms.end(), [&](const Norm& norm) {
            return norm.position == Norm::Position::after_add && !norm.final && origin(norm.reads) == line;
        });
    }

    bool has_attention(std::size_t from, std::size_t to) const {
        for (std::size_t i = from + 1; i <= to; ++i)
            if (node(i).role == Role::attention && depends(graph_, i, from) && depends(graph_, to, i)) return true;
        return false;
    }
    /// Judges each branch of a sum, then all of them together.
    void read_sum(const Sum& sum) {
        std::size_t attentions = 0;
        bool mixed_streams = false, scaled = false;
        std::vector<Topology::Branch> branches;
        for (const std::size_t k : sum.adds) {
            const ResidualAdd& add = graph_.residual_adds[k];
            mixed_streams |= add.mixed;
            scaled |= add.scaled;
            for (const std::size_t end : ends(add)) {
                branches.push_back({add.line, end, around(add, end).placement(), false});
                attentions += has_attention(add.from, end);
            }
        }
        const bool agree = std::all_of(branches.begin(), branches.end(),
            [&](const Topology::Branch& b) { return b.placement == branches[0].placement; });
        for (Topology::Branch& branch : branches) branch.disagrees = !agree;
        const std::string one = branches.empty() ? "no_norm" : branches[0].placement;
        std::string whole = one;
        if (mixed_streams) whole = "mhc";
        else if (!agree) whole = "mixed";
        // Side by side are branches of different kinds, attention and FFN; or any, where there is no attention.
        else if (branches.size() > 1 && attentions < branches.size()) whole = "parallel";
        else if (norm_behind(sum)) whole = one != "no_norm" ? "mixed" : scaled ? "deepnorm" : "post";
        topology_.adds.resize(graph_.residual_adds.size());
        for (const std::size_t k : sum.adds) topology_.adds[k] = whole;
        topology_.branches.insert(topology_.branches.end(), branches.begin(), branches.end());
    }

    const Graph& graph_;
    std::map<std::size_t, const ResidualAdd*> adds_;
    std::vector<Sum> sums_;
    std::vector<std::size_t> norm_at_; ///< index of the norm that a line belongs to
    Topology topology_;
};

} // namespace

const char* name(Topology::Norm::Position position) {
    constexpr const char* names[] = {"input", "output", "after_add", "qk", "inner"};
    return names[static_cast<std::size_t>(position)];
}

Topology topology_of(const Graph& graph) { return Reader(graph).read(); }

} // namespace chalkgrad
