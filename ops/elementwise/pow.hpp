// Powers with a constant exponent.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// x^exponent, with C's conventions: x⁰ = 1 for every x, negative x only for whole exponents (else NaN). The exponent is a
/// constant; its slope in x is p x^(p − 1), 0 for p = 0, inf at x = 0 for 0 < p < 1. Throws Error for a non-finite exponent.
template <class T> Var<T> pow(const Var<T>& x, double exponent);

} // namespace chalkgrad
