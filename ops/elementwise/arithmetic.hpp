// Operations of two operands with NumPy's broadcasting, and the operators of Var with Vars and plain numbers.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>

namespace chalkgrad {

/// a + b. Shapes broadcast by NumPy's rules, here and below; each gradient has its operand's shape. Throws Error where they do not.
template <class T> Var<T> add(const Var<T>& a, const Var<T>& b);
/// a − b.
template <class T> Var<T> sub(const Var<T>& a, const Var<T>& b);
/// a·b, element by element.
template <class T> Var<T> mul(const Var<T>& a, const Var<T>& b);
/// a/b. Division by zero gives ±inf or NaN as in IEEE 754; where the cotangent is exactly 0 so are the gradients.
template <class T> Var<T> div(const Var<T>& a, const Var<T>& b);
/// The lesser of a and b. Where they are equal each gets half the gradient, so maximum(x, 0) is not relu(x) at 0. NaN in
/// either gives NaN, and no gradient.
template <class T> Var<T> minimum(const Var<T>& a, const Var<T>& b);
/// The greater of a and b; as minimum.
template <class T> Var<T> maximum(const Var<T>& a, const Var<T>& b);
/// log(eᵃ + eᵇ), without overflow; −inf and no gradient where both are −inf (course §13: sigmoid is exp(−logaddexp(0, −z))).
template <class T> Var<T> logaddexp(const Var<T>& a, const Var<T>& b);
/// The same from primitive ops: max(a, b) + log(1 + e^−|a − b|).
template <class T> Var<T> logaddexp_composed(const Var<T>& a, const Var<T>& b);

namespace detail {

template <class T> inline constexpr bool is_var = false;
template <class T> inline constexpr bool is_var<Var<T>> = true;
template <class A, class B>
concept var_and_array = is_var<std::remove_cvref_t<A>> && xt::is_xexpression<std::remove_cvref_t<B>>::value;

template <class T, class A> Var<T> constant_beside(const Var<T>& x, const A& array) {
    return x.tape().constant(Array<T>(array));
}

} // namespace detail

// Vars with Vars, with plain numbers, and with arrays, which are constants.
#define CHALKGRAD_OPERATOR(symbol, op)                                                                   \
    template <class T> Var<T> operator symbol(const Var<T>& a, const Var<T>& b) { return op(a, b); }     \
    template <class T> Var<T> operator symbol(const Var<T>& a, std::type_identity_t<number_t<T>> b) {    \
        return op(a, a.tape().template number<T>(b));                                                    \
    }                                                                                                    \
    template <class T> Var<T> operator symbol(std::type_identity_t<number_t<T>> a, const Var<T>& b) {    \
        return op(b.tape().template number<T>(a), b);                                                    \
    }                                                                                                    \
    template <class A, class B>                                                                          \
    requires detail::var_and_array<A, B>                                                                 \
    auto operator symbol(A&& a, B&& b) { return op(a, detail::constant_beside(a, b)); }                  \
    template <class A, class B>                                                                          \
    requires detail::var_and_array<B, A>                                                                 \
    auto operator symbol(A&& a, B&& b) { return op(detail::constant_beside(b, a), b); }                  \
    template <class T, class U>                                                                          \
    requires(!std::is_same_v<T, U>) Var<T>                                                               \
    operator symbol(const Var<T>& a, const Var<U>&) {                                                    \
        static_assert(std::is_same_v<T, U>,                                                              \
            "two Vars of different scalars, as float and double: cast<double>(x) converts one of them"); \
        return a;                                                                                        \
    }
CHALKGRAD_OPERATOR(+, add)
CHALKGRAD_OPERATOR(-, sub)
CHALKGRAD_OPERATOR(*, mul)
CHALKGRAD_OPERATOR(/, div)
#undef CHALKGRAD_OPERATOR

template <class T> Var<T> operator-(const Var<T>& x) { return neg(x); }

} // namespace chalkgrad
