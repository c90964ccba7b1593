// The reverse sweep over a tape's records. Users call backward() and grad() in var.hpp.
#pragma once // internal

#include <functional>
#include <vector>

#include <chalkgrad/autograd/tape/tape_state.hpp>

namespace chalkgrad::detail {

/// Called in a sweep for each line whose gradient has just become complete, from the last line to the first.
using OnGradient = std::function<void(Index)>;

/// Sweeps from line y with `cotangent` (its size, in its working type); adds to the gradients of the variables, replaces
/// those of kept intermediates. On an exception all gradients are as before.
void sweep_backward(TapeState& tape, Index y, const void* cotangent, const OnGradient& on_gradient = {});

/// Sweeps from line y towards the lines `xs` only, calls on_target(k) while the gradient of xs[k] is in place (or never, where y
/// does not depend on it), and leaves all kept gradients as they were.
void sweep_towards(TapeState& tape, Index y, const void* cotangent, const std::vector<Index>& xs,
    const std::function<void(std::size_t)>& on_target, const OnGradient& on_gradient = {});

} // namespace chalkgrad::detail
