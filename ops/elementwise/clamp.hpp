// clamp: keeps every element between two limits.
#pragma once

#include <optional>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// min(max(x, min), max); an absent limit is an open side. The slope is 1 inside and exactly at a limit, 0 outside; NaN stays
/// NaN, with slope 0. The gate of gpt-oss is clamp(g, {}, 7) (course §9). Throws Error for a NaN limit and for min > max.
template <class T> Var<T> clamp(const Var<T>& x, std::optional<double> min, std::optional<double> max);

} // namespace chalkgrad
