// The graph of a tape: its lines as nodes, and where the residual stream runs. Read from the tape alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

struct GraphNode {
    enum class Kind { input, parameter, constant, op, output };
    std::size_t line; ///< its id: the position on the tape
    Kind kind;
    std::string op, name;
    Attributes attributes;
    Shape shape;
    Dtype dtype;
    std::size_t scope; ///< index into Graph::scopes
    Role role;
    bool needs_grad;
    std::optional<double> number; ///< of a constant of one element, where the tape has values
    bool on_stream = false;       ///< on the residual stream
    bool given = false;           ///< a parameter, a constant, or computed from them alone

    bool is_leaf() const { return op == "leaf"; }
};

struct GraphEdge {
    std::size_t from, to;  ///< lines
    std::string input;     ///< what the op calls this operand
    std::size_t operand;   ///< which of the op's operands, from 0
    bool residual = false; ///< carries the residual stream
};

/// out = carrier + branch, where the branch was computed from the stream.
struct ResidualAdd {
    std::size_t line;
    std::size_t carrier;   ///< the operand that carries the stream
    std::size_t branch;    ///< the other one
    std::size_t from;      ///< the point of the stream that the branch starts at
    bool scaled = false;   ///< the carrier is a multiple of the stream (DeepNorm's α h)
    bool mixed = false;    ///< the carrier is a mixture of several streams (mHC's A X)
    bool parallel = false; ///< the branch starts before an earlier add: it does not see that add's branch
    std::size_t stack =
        0; ///< which stream it belongs to, counted by first adds: an encoder and a decoder have one each
};

struct Graph {
    std::vector<GraphNode> nodes; ///< in tape order
    std::vector<GraphEdge> edges; ///< by consumer, then by operand
    std::vector<ScopeInfo> scopes;
    std::vector<ResidualAdd> residual_adds; ///< in tape order

    /// Operands of a line, as a range of edges.
    struct Operands {
        const GraphEdge *first, *last;
        const GraphEdge* begin() const { return first; }
        const GraphEdge* end() const { return last; }
        std::size_t size() const { return static_cast<std::size_t>(last - first); }
        const GraphEdge& operator[](std::size_t i) const { return first[i]; }
    };
    Operands operands(std::size_t line) const {
        return {edges.data() + first_edge[line], edges.data() + first_edge[line + 1]};
    }
    std::vector<std::size_t> first_edge; ///< where a line's operands begin in edges; one more than nodes

    /// "block/attention", empty for the tape itself.
    std::string scope_path(std::size_t scope) const { return chalkgrad::scope_path(scopes, scope); }
    /// The outermost scope with the role of a norm around a scope, or 0.
    std::size_t norm_scope(std::size_t scope) const;
    /// Whether a scope is `outer`, or lies in it however deep.
    bool is_inside(std::size_t scope, std::size_t outer) const {
        while (scope != outer && scope != 0) scope = scopes[scope].parent;
        return scope == outer;
    }
    /// By scope: whether a residual add lies in it, however deep.
    std::vector<char> scopes_with_adds() const;
};

/// The graph of all lines of a tape. `inputs` are the leaves that are data: other variables are parameters. `outputs` are the
/// results; by default the ops that nothing reads. Follows the stream back from the outputs: an add is residual when one
/// operand is the stream itself, or a multiple or mixture of it, and the other was computed from it. Throws Error for lines that
/// the tape does not have.
Graph graph_of(const Tape& tape, const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs = {});
/// The same where every variable is data.
Graph graph_of(const Tape& tape);

/// Whether line `to` is computed from line `from`, without passing the lines marked in `closed` (which may be empty).
bool depends(const Graph& graph, std::size_t to, std::size_t from, const std::vector<char>& closed = {});

/// Whether a line is a sum of two operands.
bool is_sum(const Graph& graph, std::size_t line);
/// The operand whose numbers an op hands on: moved, scaled, or mixed between streams, but not transformed; none for others.
struct PassThrough {
    std::size_t from;
    bool scaled = false, mixed = false;
};
std::optional<PassThrough> handed_on(const Graph& graph, std::size_t line);
/// The operand that the main flow of a line comes from; none for leaves.
std::optional<std::size_t> main_operand(const Graph& graph, std::size_t line);

} // namespace chalkgrad
