// The only door to xtensor: its arrays, with a cure for 0.24.3 under C++20, chalkgrad's alias for them, and how they print.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <vector>

#include <chalkgrad/autograd/base/dual.hpp>
#include <chalkgrad/autograd/base/shape.hpp>

// Under -std=c++20 xtensor 0.24.3 takes the temporaries of a dynamic-rank expression for fixed-rank ones (its rule for svector
// shapes is written for C++17 only); immediate reductions then corrupt memory. These two specialisations must be seen
// before any other xtensor header does its work, hence forward declarations first.
#include <xtensor/xshape.hpp>
#include <xtensor/xtensor_forward.hpp>

namespace xt::detail {
template <class S> struct xtype_for_shape;
template <> struct xtype_for_shape<xt::dynamic_shape<std::size_t>> {
    template <class T, layout_type L> using type = xarray<T, L>;
};
template <> struct xtype_for_shape<xt::dynamic_shape<std::ptrdiff_t>> {
    template <class T, layout_type L> using type = xarray<T, L>;
};
} // namespace xt::detail

// Dual numbers in xt::maximum, xt::where and the like.
#include <xtl/xtype_traits.hpp>
template <class T> struct xtl::is_scalar<chalkgrad::Dual<T>> : std::true_type {};

#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>

namespace chalkgrad {

/// What users hold: a row-major array of dynamic rank.
template <class T> using Array = xt::xarray<T>;

static_assert(
    std::is_same_v<decltype(xt::eval(std::declval<Array<double>&>() + std::declval<Array<double>&>())), Array<double>>,
    "xtensor was included before <chalkgrad/autograd/base/array.hpp>: include chalkgrad's headers first");

/// An array of that shape; its numbers are yet to be written.
template <class T> Array<T> array_of(const Shape& shape) {
    return Array<T>(typename Array<T>::shape_type(shape.begin(), shape.end()));
}

/// Numbers in nested brackets, row-major; long axes are shortened to three from each end.
std::string to_string(const Shape& shape, const std::vector<double>& numbers, int digits = 6);

namespace detail {

/// What is printed of an array or a lazy expression; of dual numbers the values.
struct Printed {
    Shape shape;
    std::vector<double> numbers;
    int digits = 6;
    Printed(const Array<double>& x); // compiled once, not in every user's file
    template <class E> Printed(const xt::xexpression<E>& x) : shape(x.derived_cast().shape()) {
        if (std::is_integral_v<typename E::value_type>) digits = 17;
        for (const auto& n : x.derived_cast()) {
            if constexpr (std::is_same_v<typename E::value_type, Dual<double>>) numbers.push_back(n.v);
            else numbers.push_back(static_cast<double>(n));
        }
    }
};

} // namespace detail
} // namespace chalkgrad

// By way of a conversion: where <xtensor/xio.hpp> is included too, its way to print is the better match.
namespace xt {
std::ostream& operator<<(std::ostream& out, const chalkgrad::detail::Printed& x);
template <std::size_t N, class A, bool Init>
std::ostream& operator<<(std::ostream& out, const svector<std::size_t, N, A, Init>& shape) {
    return out << chalkgrad::Shape(shape);
}
} // namespace xt
