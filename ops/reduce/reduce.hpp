// Reductions over axes: sum, mean, biased variance, largest and smallest element, log-sum-exp.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// The axes that a reduction runs over: a list, one number, or all when nothing is given. Negative ones count from the end.
class Axes {
public:
    Axes() = default;
    Axes(std::initializer_list<std::ptrdiff_t> axes) : Axes(std::vector<std::ptrdiff_t>(axes)) {}
    template <std::integral I>
    requires(!std::same_as<I, bool>) Axes(I axis) : Axes({static_cast<std::ptrdiff_t>(axis)}) {}
    /// An empty vector names none: every element is reduced by itself, as in NumPy. Throws Error for more than 8.
    explicit Axes(const std::vector<std::ptrdiff_t>& axes);

    /// The extents of x with 1 where it is reduced. Throws Error naming `op` for an axis that x does not have, or has twice.
    Shape kept(const char* op, const Shape& x) const { return result(op, x, true); }
    /// The shape of the result.
    Shape result(const char* op, const Shape& x, bool keepdims) const;
    Attribute attribute() const;

private:
    std::array<std::int8_t, Shape::max_rank> axes_{};
    std::uint8_t count_ = 0;
    bool all_ = true;
};

/// Σ x over the axes, which disappear from the shape, or stay with extent 1 if keepdims. A sum over nothing is 0.
/// All reductions throw Error for axes that x does not have.
template <class T> Var<T> sum(const Var<T>& x, const Axes& axes = {}, bool keepdims = false);
/// Σ x / N. Throws Error over nothing.
template <class T> Var<T> mean(const Var<T>& x, const Axes& axes = {}, bool keepdims = false);
/// Σ (x − mean)² / N, as in the norms; centred twice, so a large mean does no harm. Throws Error over nothing.
template <class T> Var<T> var_biased(const Var<T>& x, const Axes& axes = {}, bool keepdims = false);
/// The largest element; NaN where there is one. The gradient of a tie is split evenly. Throws Error over nothing.
template <class T> Var<T> amax(const Var<T>& x, const Axes& axes = {}, bool keepdims = false);
/// The smallest element, likewise.
template <class T> Var<T> amin(const Var<T>& x, const Axes& axes = {}, bool keepdims = false);
/// log Σ exp(x + mask), finite wherever the answer is. The additive mask (0, −inf or any number) broadcasts to x; give a
/// constant, or a variable to get its gradient. Where everything is −inf, the value is −inf and the gradient 0.
template <class T>
Var<T> logsumexp(const Var<T>& x, const Axes& axes = {}, bool keepdims = false, const Var<T>& mask = {});

/// The same from primitive ops.
template <class T> Var<T> var_biased_composed(const Var<T>& x, const Axes& axes = {}, bool keepdims = false);
template <class T>
Var<T> logsumexp_composed(const Var<T>& x, const Axes& axes = {}, bool keepdims = false, const Var<T>& mask = {});

} // namespace chalkgrad
