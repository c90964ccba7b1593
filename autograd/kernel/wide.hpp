// What long sums are kept in: a float that grows over some thousand terms loses digits, and stops at 2²⁴ ones.
#pragma once // internal

namespace chalkgrad {
namespace detail {
template <class T> struct Wide { using type = T; };
template <> struct Wide<float> { using type = double; };
} // namespace detail

/// double for float, else T itself.
template <class T> using wide_t = typename detail::Wide<T>::type;

} // namespace chalkgrad
