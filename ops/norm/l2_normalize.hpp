// L2 normalisation: each row as a unit vector, with a guard against rows of length 0.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// How a division by a length of 0 is avoided: x / max(‖x‖, eps), or x / √(‖x‖² + eps).
enum class Guard { floor, additive };

/// x divided by its Euclidean length along the last axis, guarded (course §7; Henry et al. 2020). x (…, D); the result has the
/// shape of x. A length of exactly eps counts as above the floor; below it the slope is 1/eps, for x = 0 too. Throws Error for
/// a 0-d x, an empty last axis, and eps that is not finite and positive.
template <class T> Var<T> l2_normalize(const Var<T>& x, double eps = 1e-12, Guard guard = Guard::floor);

/// The same from primitive ops.
template <class T> Var<T> l2_normalize_composed(const Var<T>& x, double eps = 1e-12, Guard guard = Guard::floor);

/// The guard of that name: "floor" or "additive". Throws Error naming `op` for another word.
Guard guard_of(const char* op, const std::string& word);

} // namespace chalkgrad
