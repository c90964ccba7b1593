// DyISRU, dynamic inverse square root unit: RMSNorm with the other coordinates' squares replaced by a learned number.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// y = γ x / √(b + x²) + β, b > 0 (course §11; Stollenwerk 2025). x (…, D); b, gamma and beta (D) or a single number, gamma and
/// beta may be absent; y has the shape of x. Where b is 0, y is γ sign(x) + β with slope 0. Throws Error for a 0-d x, an empty
/// last axis, and other shapes.
template <class T> Var<T> dyisru_b(const Var<T>& x, const Var<T>& b, const Var<T>& gamma = {}, const Var<T>& beta = {});

/// The same with b = softplus(r) + floor, positive for every r. Throws Error also for a floor that is negative or not finite.
template <class T>
Var<T> dyisru_softplus(
    const Var<T>& x, const Var<T>& r, const Var<T>& gamma = {}, const Var<T>& beta = {}, double floor = 0);

/// The same from primitive ops.
template <class T>
Var<T> dyisru_b_composed(const Var<T>& x, const Var<T>& b, const Var<T>& gamma = {}, const Var<T>& beta = {});
template <class T>
Var<T> dyisru_softplus_composed(
    const Var<T>& x, const Var<T>& r, const Var<T>& gamma = {}, const Var<T>& beta = {}, double floor = 0);

} // namespace chalkgrad
