// Results that overflowed on their way: a rule run again in a wider scalar, which has room for them.
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/autograd/tape/rule.hpp>

namespace chalkgrad {

/// Whether n numbers hold no NaN and no infinity; of duals and long doubles nobody asks.
template <class T> bool all_finite(const T* x, std::size_t n) {
    if constexpr (!base::is_simd<T>) return true;
    else return base::sum<T>(n, [=](std::size_t i) FAST { return x[i] - x[i]; }) == 0;
}

namespace detail {
#define CHALKGRAD_WIDER(T)                                    \
    void forward_in_wider(const Op& op, Ins<T> in, Out<T> y); \
    void vjp_in_wider(const Op& op, Ins<T> in, const Shape& y, In<T> gy, Outs<T> gx);
CHALKGRAD_WIDER(float)
CHALKGRAD_WIDER(double)
#undef CHALKGRAD_WIDER
} // namespace detail

/// Floats are done again in double, doubles in long double: for a rule that finds its own result not to be finite. An argument
/// that is NaN or +inf explains such a result, which then stays.
template <class Rule, class T> void forward_in_wider(const Rule& rule, Ins<T> in, Out<T> y) {
    if constexpr (base::is_simd<T>) detail::forward_in_wider(OpOf<Rule>(rule), in, y);
}
template <class Rule, class T> void vjp_in_wider(const Rule& rule, Ins<T> in, const Shape& y, In<T> gy, Outs<T> gx) {
    if constexpr (base::is_simd<T>) detail::vjp_in_wider(OpOf<Rule>(rule), in, y, gy, gx);
}

} // namespace chalkgrad
