// DyT, dynamic tanh: a layer in the place of a norm that looks at one element at a time.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// y = γ tanh(α x) + β (course §11; Zhu et al. 2025). x (…, D); alpha a single number, learned; gamma and beta (D), a single
/// number, or absent; y has the shape of x. Throws Error for a 0-d x, an empty last axis, and other shapes.
template <class T> Var<T> dyt(const Var<T>& x, const Var<T>& alpha, const Var<T>& gamma = {}, const Var<T>& beta = {});

/// The same from primitive ops.
template <class T>
Var<T> dyt_composed(const Var<T>& x, const Var<T>& alpha, const Var<T>& gamma = {}, const Var<T>& beta = {});

} // namespace chalkgrad
