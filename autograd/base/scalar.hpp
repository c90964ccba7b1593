// The scalars of a tape: their names at run time, what they compute in, and what their gradients are kept in.
#pragma once

#include <cstddef>
#include <cstdint>

#include <chalkgrad/autograd/base/dual.hpp>

namespace Eigen {
struct half;
struct bfloat16;
} // namespace Eigen

namespace chalkgrad {

using half = Eigen::half;         ///< IEEE binary16; include <chalkgrad/autograd/base/half.hpp> to use its values.
using bfloat16 = Eigen::bfloat16; ///< The upper half of a binary32; same header.

enum class Dtype : std::uint8_t { f64, f32, f80, dual, f16, bf16 };

/// "double", "float", "long double", "dual", "half", "bfloat16".
const char* name(Dtype dtype);
/// Bytes of one element.
std::size_t bytes(Dtype dtype);
/// What gradients are kept in, and what the rules compute in: float for half and bfloat16, else the type itself.
Dtype work_dtype(Dtype dtype);

namespace detail {
template <class T> struct ScalarTraits;
template <> struct ScalarTraits<double> {
    static constexpr Dtype dtype = Dtype::f64;
    using Work = double;
    using Number = double;
};
template <> struct ScalarTraits<float> {
    static constexpr Dtype dtype = Dtype::f32;
    using Work = float;
    using Number = double;
};
template <> struct ScalarTraits<long double> {
    static constexpr Dtype dtype = Dtype::f80;
    using Work = long double;
    using Number = long double;
};
template <> struct ScalarTraits<Dual<double>> {
    static constexpr Dtype dtype = Dtype::dual;
    using Work = Dual<double>;
    using Number = double;
};
template <> struct ScalarTraits<half> {
    static constexpr Dtype dtype = Dtype::f16;
    using Work = float;
    using Number = double;
};
template <> struct ScalarTraits<bfloat16> {
    static constexpr Dtype dtype = Dtype::bf16;
    using Work = float;
    using Number = double;
};
} // namespace detail

template <class T> inline constexpr Dtype dtype_of = detail::ScalarTraits<T>::dtype;
/// The type of gradients and of a rule's arithmetic for values of type T.
template <class T> using work_t = typename detail::ScalarTraits<T>::Work;
/// The plain number that mixes with a Var<T> in `2 * x`.
template <class T> using number_t = typename detail::ScalarTraits<T>::Number;

/// Calls MACRO(T) for the four scalars in which rules are compiled.
#define CHALKGRAD_FOR_WORK_SCALARS(MACRO) MACRO(double) MACRO(float) MACRO(long double) MACRO(::chalkgrad::Dual<double>)
/// Calls MACRO(T) for all six scalars that a Var can hold.
#define CHALKGRAD_FOR_SCALARS(MACRO) \
    CHALKGRAD_FOR_WORK_SCALARS(MACRO) MACRO(::chalkgrad::half) MACRO(::chalkgrad::bfloat16)

} // namespace chalkgrad
