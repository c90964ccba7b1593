// Rows divided by their root, guarded against division by 0: l2_normalize, and the course's normaliser U.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// How a division by a length of 0 is avoided: x / max(‖x‖, eps), or x / √(‖x‖² + eps).
enum class Guard { floor, additive };
/// The guard of that name: "floor" or "additive". Throws Error naming `op` for another word.
Guard guard_of(const char* op, const std::string& word);

/// x divided by its Euclidean length along the last axis, guarded (course §7; Henry et al. 2020). x (…, D); the result has the
/// shape of x. A length of exactly eps counts as above the floor; below it the slope is 1/eps, for x = 0 too. Throws Error for
/// a 0-d x, an empty last axis, and eps that is not finite and positive.
template <class T> Var<T> l2_normalize(const Var<T>& x, double eps = 1e-12, Guard guard = Guard::floor);

/// U(x) = x / max(√⟨x²⟩, floor), ⟨·⟩ the mean over the last axis (course §6); shapes and errors as above.
/// A row whose root mean square is exactly the floor counts as normalised; below it U is linear with slope 1/floor.
template <class T> Var<T> rms_norm_floor(const Var<T>& x, double floor = 1e-12);

/// The same from primitive ops.
template <class T> Var<T> l2_normalize_composed(const Var<T>& x, double eps = 1e-12, Guard guard = Guard::floor);
template <class T> Var<T> rms_norm_floor_composed(const Var<T>& x, double floor = 1e-12);

} // namespace chalkgrad
