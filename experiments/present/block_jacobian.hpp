// The Jacobian of a recorded block as a formula of its parts, by the place of its norms, and whether the numbers agree.
#pragma once

#include <string>

#include <chalkgrad/autograd/graph/topology.hpp>

namespace chalkgrad {

struct BlockJacobian {
    std::string formula; ///< "J = (I + J_ffn J_norm2) (I + J_attention J_norm1)"; the last step stands first
    double error;        ///< of the formula's product of parts against the whole, relative to the largest entry
    bool holds;          ///< error ≤ 1e-11
};

/// The formula for y = block(x), with column Jacobians and each factor at its own point. Where mHC's maps are computed from X, its J_mix,
/// J_read and J_write hold them fixed, and A′X, pre′X and post′F are what their change adds; (A X)′ is both for an op that does it all
/// at once. The parts come from reverse sweeps between lines of the tape, parts with fixed maps and the whole from dual numbers. x is a variable and y a result of `tape`, which has values; meant for small
/// blocks: it takes a sweep for every number of every part. Throws Error where y is not reached from x by residual adds.
BlockJacobian block_jacobian(
    const Tape& tape, const Graph& graph, const Topology& topology, std::size_t x, std::size_t y);

} // namespace chalkgrad
