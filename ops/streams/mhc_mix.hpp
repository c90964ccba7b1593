// Mixing of residual streams by a doubly stochastic matrix (manifold-constrained hyper-connections).
#pragma once

#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

namespace chalkgrad {

/// y = A x: rows of x (…, n, d) are streams, and each stream of y is a mixture of them (course §12; mHC, Xie et al. 2025). A
/// (n, n) is a constant, of any values. Throws Error for shapes that do not fit.
template <class T> Var<T> mhc_mix_fixed(const Var<T>& x, const Array<double>& a);

/// y = sinkhorn_log(m) x with learned logits m (n, n), which all of a batch share.
template <class T> Var<T> mhc_mix_param(const Var<T>& x, const Var<T>& m, const SinkhornOptions& options = {});

/// y = A(x) x, A = sinkhorn_log(alpha·mat(vec(x) w) + bias): the streams themselves say how to mix them, so x receives two
/// gradients. vec is row by row. w (n·d, n²), bias (n, n), alpha a single number.
template <class T>
Var<T> mhc_mix_xdep(
    const Var<T>& x, const Var<T>& w, const Var<T>& bias, const Var<T>& alpha, const SinkhornOptions& options = {});

/// The same from matmul, reshape and the parts of sinkhorn_log_composed.
template <class T> Var<T> mhc_mix_fixed_composed(const Var<T>& x, const Array<double>& a);
template <class T> Var<T> mhc_mix_param_composed(const Var<T>& x, const Var<T>& m, const SinkhornOptions& options = {});
template <class T>
Var<T> mhc_mix_xdep_composed(
    const Var<T>& x, const Var<T>& w, const Var<T>& bias, const Var<T>& alpha, const SinkhornOptions& options = {});

} // namespace chalkgrad
