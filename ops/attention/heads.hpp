// Features of a token as heads, and back. H must divide them: the callers say it in their own words.
#pragma once // internal

#include <utility>
#include <vector>

#include <chalkgrad/ops/shape/shape_ops.hpp>

namespace chalkgrad {

/// x with two axes exchanged, counted from the end: 1 is the last.
template <class T> Var<T> swap_axes(const Var<T>& x, std::size_t a, std::size_t b) {
    std::vector<std::ptrdiff_t> axes;
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::ptrdiff_t>(i));
    std::swap(axes[x.rank() - a], axes[x.rank() - b]);
    return transpose(x, axes);
}

/// (…, T, H, d) ↔ (…, H, T, d).
template <class T> Var<T> swap_heads_and_tokens(const Var<T>& x) { return swap_axes(x, 3, 2); }

/// (…, T, H·d) → (…, T, H, d).
template <class T> Var<T> as_heads(const Var<T>& x, std::size_t heads) {
    std::vector<std::ptrdiff_t> shape(x.shape().begin(), x.shape().end());
    shape.back() = static_cast<std::ptrdiff_t>(heads);
    shape.push_back(static_cast<std::ptrdiff_t>(x.shape().last() / heads));
    return reshape(x, shape);
}

/// (…, T, H·d) → (…, H, T, d).
template <class T> Var<T> split_heads(const Var<T>& x, std::size_t heads) {
    return swap_heads_and_tokens(as_heads(x, heads));
}

/// (…, H, T, d) → (…, T, H·d).
template <class T> Var<T> merge_heads(const Var<T>& x) {
    const Var<T> y = swap_heads_and_tokens(x);
    std::vector<std::ptrdiff_t> shape(y.shape().begin(), y.shape().end() - 1);
    shape.back() *= static_cast<std::ptrdiff_t>(y.shape().last());
    return reshape(y, shape);
}

} // namespace chalkgrad
