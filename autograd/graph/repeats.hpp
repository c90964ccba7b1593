// Scopes that are alike: found by what they do, so that a stack of 32 blocks is drawn once.
#pragma once // internal

#include <vector>

#include <chalkgrad/autograd/graph/graph.hpp>

namespace chalkgrad {

/// Which lines repeat others. A line that is drawn stands for itself.
struct Repeats {
    std::vector<std::size_t> stands_for; ///< by line: the same line of the first of the alike scopes
    std::vector<std::size_t>
        copies;                    ///< by scope: how many alike scopes it is drawn for; 0 where it is not drawn itself
    std::vector<std::size_t> last; ///< by scope: the last of those scopes
};

/// Runs of scopes beside each other that do the same under the same name, numbers aside: from two on of scopes that hold residual
/// adds, from three on of others. Only scopes in `opened` ones are looked at.
Repeats find_repeats(const Graph& graph, const std::vector<char>& opened);

} // namespace chalkgrad
