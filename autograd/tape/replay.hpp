// Replay: a recorded program run again in another scalar, on other numbers, without recording it anew.
#pragma once // internal

#include <cstdint>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// A private copy, in scalar U, of the lines of a double tape that lead to some outputs. One op object serves all scalars, so
/// the copy runs the same rules. What needs no gradient keeps the value it has at the recorded point: constants, and what
/// lies behind a stop_gradient.
template <class U> class Replay {
public:
    /// Copies the tape up to the last of `outputs`; the lines `leaves`, in ascending order, become variables whatever made them.
    /// Throws Error if a line is not double or its op cannot run in U.
    explicit Replay(const std::vector<Var<double>>& outputs, const std::vector<std::uint32_t>& leaves = {});
    /// Whether every line up to the last output can run in U; if not, `why` says which cannot.
    static bool possible(const std::vector<Var<double>>& outputs, std::string* why = nullptr);

    /// The numbers of a line: write those of leaves, read those of any.
    U* values(std::size_t line) { return static_cast<U*>((*state_)[index(line)].value); }
    std::size_t size(std::size_t line) const { return (*state_)[index(line)].shape->size(); }

    /// The lines that change when leaf `x` changes and that lead to an output, in order.
    std::vector<std::uint32_t> dependents(std::size_t x) const;
    /// Runs the given lines again.
    void run(const std::vector<std::uint32_t>& lines);
    /// Runs every line that needs a gradient again.
    void run();

    /// Reverse sweep from a line with size(line) cotangents; the gradients of the leaves are then read with gradient().
    void backward(std::size_t line, const U* cotangent);
    /// The gradient that the last backward left in a leaf; nullptr where the line does not depend on it.
    const U* gradient(std::size_t leaf) const { return static_cast<const U*>((*state_)[index(leaf)].grad); }

    /// Which side of their kinks the ops on the given lines are on.
    KinkSides kinks(const std::vector<std::uint32_t>& lines) const;

private:
    static detail::Index index(std::size_t line) { return static_cast<detail::Index>(line); }
    detail::StateRef source_; // owns the ops
    detail::StateRef state_;
    std::vector<std::uint32_t> outputs_;
};

} // namespace chalkgrad
