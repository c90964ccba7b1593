// The sentences of a topology, made once everything else of it is known.
#pragma once // internal

#include <chalkgrad/autograd/graph/topology.hpp>

namespace chalkgrad::detail {

/// Fills `evidence`: what on the graph speaks for the placement.
void explain(const Graph& graph, Topology& topology);
/// Fills `contradictions`: scopes whose names say another placement than the graph.
void contradict(const Graph& graph, Topology& topology);

} // namespace chalkgrad::detail
