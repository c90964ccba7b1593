// How much a drawing shows: the scopes that it opens, and a coarser level where it would have too many boxes.
#include <algorithm>

#include <fmt/format.h>

#include <chalkgrad/autograd/graph/drawing.hpp>

namespace chalkgrad {

std::size_t deepest(const Graph& graph) {
    std::vector<std::size_t> depth(graph.scopes.size(), 0);
    std::size_t most = 0;
    for (std::size_t s = 1; s < graph.scopes.size(); ++s)
        most = std::max(most, depth[s] = depth[graph.scopes[s].parent] + 1);
    return most;
}

std::vector<char> opened_scopes(const Graph& graph, const DrawOptions& options) {
    const bool by_module = options.level == DrawOptions::Level::module;
    const std::size_t scopes = graph.scopes.size(), levels = deepest(graph);
    if (options.depth && (*options.depth < 1 || *options.depth > levels + 1))
        throw Error(fmt::format("graph: depth {} is out of range; scopes nest {} deep here, so use 1 to {}",
            *options.depth, levels, levels + 1));
    const std::vector<char> holds_add = graph.scopes_with_adds();
    std::vector<char> opened(scopes, 0);
    std::vector<std::size_t> depth(scopes, 0), children(scopes, 0);
    for (std::size_t s = 1; s < scopes; ++s) ++children[graph.scopes[s].parent];
    std::vector<char> has_ops(scopes, 0);
    for (const GraphNode& n : graph.nodes) has_ops[n.scope] |= !n.is_leaf();
    opened[0] = 1;
    for (std::size_t s = 1; s < scopes; ++s) {
        const std::size_t parent = graph.scopes[s].parent;
        depth[s] = depth[parent] + 1;
        // Without a stream one box would say nothing: what stands alone is opened.
        const bool alone = graph.residual_adds.empty() && children[parent] == 1 && !has_ops[parent];
        const bool wanted = options.depth ? depth[s] < *options.depth : !by_module || holds_add[s] || alone;
        opened[s] = opened[parent] && wanted && (!by_module || options.depth || graph.scopes[s].role == Role::none);
    }
    return opened;
}

Drawing draw_at_most(const Graph& graph, DrawOptions options, std::size_t most, std::string& coarser) {
    Drawing drawing = draw(graph, options);
    const std::size_t wanted = drawing.boxes.size();
    if (wanted > most) {
        coarser = "modules";
        options.level = DrawOptions::Level::module;
        options.depth.reset();
        drawing = draw(graph, options);
    }
    if (drawing.boxes.size() > most) {
        coarser = "the outermost scopes";
        options.depth = 1;
        drawing = draw(graph, options);
    }
    if (drawing.boxes.size() > most)
        throw Error(
            fmt::format("graph: {} boxes even at the coarsest level, and {} are the most a picture can show; group "
                        "lines under scopes",
                drawing.boxes.size(), most));
    if (!coarser.empty())
        coarser = fmt::format(
            "{} boxes are too many for a picture; it shows {}: {} boxes", wanted, coarser, drawing.boxes.size());
    return drawing;
}

} // namespace chalkgrad
