// add, sub, mul, div with NumPy's broadcasting, and the operators of Var with Vars and plain numbers.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>

namespace chalkgrad {

/// a + b. Shapes broadcast by NumPy's rules; each gradient has its operand's shape. Throws Error where they do not broadcast.
template <class T> Var<T> add(const Var<T>& a, const Var<T>& b);
/// a − b.
template <class T> Var<T> sub(const Var<T>& a, const Var<T>& b);
/// a·b, element by element.
template <class T> Var<T> mul(const Var<T>& a, const Var<T>& b);
/// a/b. Division by zero gives ±inf or NaN as in IEEE 754; where the cotangent is exactly 0 so are the gradients.
template <class T> Var<T> div(const Var<T>& a, const Var<T>& b);
#define CHALKGRAD_OPERATOR(symbol, op)                                                                \
    template <class T> Var<T> operator symbol(const Var<T>& a, const Var<T>& b) { return op(a, b); }  \
    template <class T> Var<T> operator symbol(const Var<T>& a, std::type_identity_t<number_t<T>> b) { \
        return op(a, a.tape().template number<T>(b));                                                 \
    }                                                                                                 \
    template <class T> Var<T> operator symbol(std::type_identity_t<number_t<T>> a, const Var<T>& b) { \
        return op(b.tape().template number<T>(a), b);                                                 \
    }
CHALKGRAD_OPERATOR(+, add)
CHALKGRAD_OPERATOR(-, sub)
CHALKGRAD_OPERATOR(*, mul)
CHALKGRAD_OPERATOR(/, div)
#undef CHALKGRAD_OPERATOR

template <class T> Var<T> operator-(const Var<T>& x) { return neg(x); }

} // namespace chalkgrad
