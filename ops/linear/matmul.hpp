// The matrix product by NumPy's rules.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// y = a b: (…, m, k) (…, k, n) → (…, m, n); the axes in front broadcast, and a shared factor's gradient is summed over them.
/// A 1-D a is one row and a 1-D b one column, and that axis is absent from y: two 1-D arrays give one number. A linear
/// layer is matmul(x, w) with x (…, in) and w (in, out). Throws Error for a single number, and extents that do not fit.
template <class T> Var<T> matmul(const Var<T>& a, const Var<T>& b);

} // namespace chalkgrad
