// The graph of a tape: its lines as nodes, and which edges carry the residual stream. Read from the tape alone.
#pragma once

#include <string>
#include <vector>

#include <chalkgrad/autograd/tape.hpp>

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
    bool on_stream = false; ///< on the residual stream
};

struct GraphEdge {
    std::size_t from, to; ///< lines
    std::string input;    ///< what the op calls this operand
    bool residual = false; ///< carries the residual stream, unchanged, into an add or out of one
};

struct Graph {
    std::vector<GraphNode> nodes; ///< in tape order
    std::vector<GraphEdge> edges; ///< by consumer, then by operand
    std::vector<ScopeInfo> scopes;
    std::vector<std::size_t> residual_adds; ///< lines
};

/// The graph of all lines of a tape. `inputs` are the leaves that are data: other variables are parameters. `outputs` are the
/// results; by default the ops that nothing reads. An add is residual when one operand is the stream itself and the other was
/// computed from it.
Graph graph_of(const Tape& tape, const std::vector<std::size_t>& inputs = {}, const std::vector<std::size_t>& outputs = {});

} // namespace chalkgrad
