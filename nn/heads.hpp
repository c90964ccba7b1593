// Features of a token as heads, and back.
#pragma once

#include <utility>
#include <vector>

#include <chalkgrad/ops/structure.hpp>

namespace chalkgrad::nn {

/// Swaps the two axes before the last: (…, T, H, d) ↔ (…, H, T, d).
template <class T>
Var<T> swap_heads_and_tokens(const Var<T>& x) {
    std::vector<std::ptrdiff_t> axes;
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::ptrdiff_t>(i));
    std::swap(axes[axes.size() - 2], axes[axes.size() - 3]);
    return transpose(x, axes);
}

/// (…, T, H·d) → (…, H, T, d).
template <class T>
Var<T> split_heads(const Var<T>& x, std::size_t heads) {
    std::vector<std::ptrdiff_t> shape(x.shape().begin(), x.shape().end());
    shape.back() = static_cast<std::ptrdiff_t>(heads);
    shape.push_back(static_cast<std::ptrdiff_t>(x.shape().last() / heads));
    return swap_heads_and_tokens(reshape(x, shape));
}

/// (…, H, T, d) → (…, T, H·d).
template <class T>
Var<T> merge_heads(const Var<T>& x) {
    const Var<T> y = swap_heads_and_tokens(x);
    std::vector<std::ptrdiff_t> shape(y.shape().begin(), y.shape().end() - 1);
    shape.back() *= static_cast<std::ptrdiff_t>(y.shape().last());
    return reshape(y, shape);
}

}  // namespace chalkgrad::nn
