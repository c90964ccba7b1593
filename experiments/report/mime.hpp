// How a C++ notebook (xeus-cling) shows a Var, a tape and a graph: it calls mime_bundle_repr on what a cell ends with.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/autograd/graph/graph.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// {"text/plain", "text/html"}: name, shape, type and numbers, and the gradient where there is one. Long axes are
/// shortened.
template <class T> nlohmann::json mime_bundle_repr(const Var<T>& x);

/// {"text/plain", "text/html"}: one row a line, as a tape prints.
nlohmann::json mime_bundle_repr(const Tape& tape);

/// {"text/plain": DOT, "image/svg+xml"}: every line as a box. Throws Error when Graphviz cannot draw it.
nlohmann::json mime_bundle_repr(const Graph& graph);

} // namespace chalkgrad
