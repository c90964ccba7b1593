// What a graph's wiring says about the place of its norms: recognised from the tape, whatever its scopes are called.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/graph/graph.hpp>

namespace chalkgrad {

struct Topology {
    /// A norm: one op whose role it is, or all lines of a scope whose role it is.
    struct Norm {
        enum class Position {
            input,     ///< reads the stream and begins a branch
            output,    ///< ends a branch, before the add
            after_add, ///< on the stream, behind an add
            qk,        ///< on queries or keys: on the way to the attention scores
            inner      ///< elsewhere in a branch
        };
        std::size_t line; ///< where its result is
        std::vector<std::size_t> lines;
        std::size_t reads; ///< the line it normalises
        std::string op, scope;
        std::optional<std::ptrdiff_t> axis; ///< −1, the last; none where it works element by element
        std::size_t extent;                 ///< of that axis
        bool affine;                        ///< has a gain or a shift
        std::optional<double> eps;
        Position position = Position::inner;
        bool final = false; ///< on the stream behind the last add, and of no block: the norm before a model's head
    };
    /// The blocks along one residual stream.
    struct Stack {
        std::string placement;
        std::string scope;       ///< the innermost one around all its adds; may be empty
        std::size_t first, last; ///< lines of its first and last add
    };
    /// What a sum adds to the stream.
    struct Branch {
        std::size_t add, end;  ///< lines: of the residual add that takes it in, and of its result
        std::string placement; ///< pre, peri, output_only or no_norm
        bool disagrees;        ///< another branch of the same sum has another one
    };
    /// pre, post, peri, output_only, deepnorm, parallel, mhc; "no_norm" where there are residual adds without norms, "mixed"
    /// where the adds disagree, or the branches of one sum, "none" without a residual add.
    std::string placement;
    std::vector<Stack>
        stacks; ///< more than one where streams lie beside each other on the tape: an encoder's and a decoder's
    std::vector<std::string> evidence;       ///< sentences
    std::vector<std::string> contradictions; ///< scopes whose names say another placement
    std::vector<Norm> norms;                 ///< in tape order
    std::vector<Branch> branches;            ///< of all residual adds
    std::vector<std::string> adds;           ///< the placement of each residual add of the graph, in its order
};
const char* name(Topology::Norm::Position position);

/// Reads the placement off a graph: which norms lie on the stream, which begin a branch, which end one. Names decide nothing; a
/// scope that holds residual adds and whose name says another placement is contradicted.
Topology topology_of(const Graph& graph);

} // namespace chalkgrad
