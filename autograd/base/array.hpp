// The only door to xtensor: its arrays, with a cure for 0.24.3 under C++20, and chalkgrad's alias for them.
#pragma once

#include <cstddef>
#include <type_traits>

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

#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>

namespace chalkgrad {

/// What users hold: a row-major array of dynamic rank.
template <class T> using Array = xt::xarray<T>;

static_assert(
    std::is_same_v<decltype(xt::eval(std::declval<Array<double>&>() + std::declval<Array<double>&>())), Array<double>>,
    "xtensor was included before <chalkgrad/autograd/base/array.hpp>: include chalkgrad's headers first");

} // namespace chalkgrad
