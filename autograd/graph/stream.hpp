// The residual stream of a graph, found once when the graph is read.
#pragma once // internal

#include <chalkgrad/autograd/graph/graph.hpp>

namespace chalkgrad::detail {

/// Marks the nodes and edges of the stream, and lists the residual adds.
void find_stream(Graph& graph);

} // namespace chalkgrad::detail
