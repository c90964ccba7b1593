// Soft-capping of scores.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// cap tanh(s/cap): close to s for small scores, never beyond ±cap (course §7; Gemma 2, 2024). To be applied before the mask,
/// whose −inf it would turn into −cap. Throws Error unless cap is finite and positive.
template <class T> Var<T> softcap(const Var<T>& s, double cap);
/// The same from primitive ops.
template <class T> Var<T> softcap_composed(const Var<T>& s, double cap);

} // namespace chalkgrad
