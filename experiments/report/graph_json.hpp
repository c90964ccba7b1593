// A graph and its topology as JSON that other programs read.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/autograd/graph/topology.hpp>

namespace chalkgrad {

/// {"nodes": [{"id", "op", "label", "scope", "shape", "dtype", "attrs", "kind", "role"}], "edges": [{"from", "to", "input", "kind"}],
/// "topology": {"placement", "evidence", "contradictions", "norms", "residual_adds"}}: every line of the tape, as recorded.
nlohmann::json to_json(const Graph& graph, const Topology& topology);

} // namespace chalkgrad
