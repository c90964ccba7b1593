// Ops that move numbers and compute none: reshape, transpose, concat, stack, where, repeat_kv.
#pragma once

#include <concepts>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// The same numbers in row-major order under another shape; one extent may be −1, for what is left. Throws Error where the
/// numbers of elements differ.
template <class T> Var<T> reshape(const Var<T>& x, const std::vector<std::ptrdiff_t>& shape);

/// The axes in another order: axis i of y is axis axes[i] of x; reversed where none are given. Throws Error unless each axis is
/// named once.
template <class T> Var<T> transpose(const Var<T>& x, const std::vector<std::ptrdiff_t>& axes = {});

/// Arrays behind each other along an axis they have. Throws Error where other extents differ, and for no array.
template <class T> Var<T> concat(const std::vector<Var<T>>& parts, std::ptrdiff_t axis = 0);
template <class T> Var<T> concat(std::initializer_list<Var<T>> parts, std::ptrdiff_t axis = 0) {
    return concat(std::vector<Var<T>>(parts), axis);
}

/// Arrays of one shape along a new axis, which is axis `axis` of the result.
template <class T> Var<T> stack(const std::vector<Var<T>>& parts, std::ptrdiff_t axis = 0);
template <class T> Var<T> stack(std::initializer_list<Var<T>> parts, std::ptrdiff_t axis = 0) {
    return stack(std::vector<Var<T>>(parts), axis);
}

namespace detail {
template <class T> T* scalar_of(const Var<T>&);
template <class T> Var<T> where(Array<bool> condition, const Var<T>& a, const Var<T>& b);
} // namespace detail

/// a where the condition holds, else b; the three shapes broadcast. The branch not taken receives a gradient of exactly 0,
/// so an op before it that would blow up there stays silent. The condition, an array or xtensor expression of bool such as
/// x.value() > 0, is a constant. (Written so that it is preferred to xt::where.)
template <class Condition, class A, class B>
requires(std::same_as<std::remove_cvref_t<A>, std::remove_cvref_t<B>>&& requires(
    const A& a) { detail::scalar_of(a); }) auto where(Condition&& condition, A&& a, B&& b) {
    return detail::where(Array<bool>(condition), a, b);
}

/// Grouped-query attention's keys and values for all query heads: (…, H_kv, T, d) → (…, heads_out, T, d), each head
/// heads_out/H_kv times, copies beside each other (0, 0, 1, 1). Throws Error where H_kv does not divide heads_out.
template <class T> Var<T> repeat_kv(const Var<T>& k, std::size_t heads_out);

} // namespace chalkgrad
