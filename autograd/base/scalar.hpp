// The scalars of a tape: their names at run time, what they compute in, and what their gradients are kept in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <chalkgrad/autograd/base/dual.hpp>

namespace Eigen {
struct half;
struct bfloat16;
} // namespace Eigen

namespace chalkgrad {

using half = Eigen::half;         ///< IEEE binary16; include <chalkgrad/autograd/base/half.hpp> to use its values.
using bfloat16 = Eigen::bfloat16; ///< The upper half of a binary32; same header.

enum class Dtype : std::uint8_t { f64, f32, f80, dual, f16, bf16 };

namespace detail {
struct NameAndSize {
    const char* name;
    std::size_t bytes;
};
/// By Dtype.
inline constexpr NameAndSize scalars[] = {{"double", sizeof(double)}, {"float", sizeof(float)},
    {"long double", sizeof(long double)}, {"dual", sizeof(Dual<double>)}, {"half", 2}, {"bfloat16", 2}};
} // namespace detail

/// "double", "float", "long double", "dual", "half", "bfloat16".
constexpr const char* name(Dtype dtype) { return detail::scalars[static_cast<std::size_t>(dtype)].name; }
/// Bytes of one element.
constexpr std::size_t bytes(Dtype dtype) { return detail::scalars[static_cast<std::size_t>(dtype)].bytes; }
/// What gradients are kept in, and what the rules compute in: float for half and bfloat16, else the type itself.
constexpr Dtype work_dtype(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16 ? Dtype::f32 : dtype; }

namespace detail {
template <Dtype which, class WorkScalar, class PlainNumber> struct ScalarFacts {
    static constexpr Dtype dtype = which;
    using Work = WorkScalar;
    using Number = PlainNumber;
};
template <class T> struct ScalarTraits : ScalarFacts<Dtype::f64, double, double> {
    static_assert(std::is_void_v<T>,
        "a Var holds double, float, long double, half, bfloat16 or Dual<double>; make "
        "Array<double>(x) of integers");
};
template <> struct ScalarTraits<double> : ScalarFacts<Dtype::f64, double, double> {};
template <> struct ScalarTraits<float> : ScalarFacts<Dtype::f32, float, double> {};
template <> struct ScalarTraits<long double> : ScalarFacts<Dtype::f80, long double, long double> {};
template <> struct ScalarTraits<Dual<double>> : ScalarFacts<Dtype::dual, Dual<double>, double> {};
template <> struct ScalarTraits<half> : ScalarFacts<Dtype::f16, float, double> {};
template <> struct ScalarTraits<bfloat16> : ScalarFacts<Dtype::bf16, float, double> {};
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
