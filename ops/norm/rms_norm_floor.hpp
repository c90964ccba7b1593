// The course's normaliser U: divides each row by its root mean square, but never by less than a floor.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// U(x) = x / max(√⟨x²⟩, floor), ⟨·⟩ the mean over the last axis (course §6). x (…, D); U has the shape of x.
/// A row whose root mean square is exactly the floor counts as normalised; below it U is linear with slope 1/floor.
/// Throws Error for a 0-d x, an empty last axis, and a floor that is not finite and positive.
template <class T> Var<T> rms_norm_floor(const Var<T>& x, double floor = 1e-12);

/// The same from primitive ops.
template <class T> Var<T> rms_norm_floor_composed(const Var<T>& x, double floor = 1e-12);

} // namespace chalkgrad
