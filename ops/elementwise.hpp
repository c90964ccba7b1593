// Functions of one element.
#pragma once

#include <chalkgrad/autograd/tape.hpp>

namespace chalkgrad {

/// −x.
template <class T>
Var<T> neg(const Var<T>& x);

} // namespace chalkgrad
