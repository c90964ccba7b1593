// Parts of an array by Python's slices.
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// start:stop:step along one axis, as Python reads it: negative numbers count from the end, what lies beyond is cut off.
struct Range {
    std::optional<std::ptrdiff_t> start = {}, stop = {};
    std::ptrdiff_t step = 1;
};
/// "...": all the axes that are not named.
struct Ellipsis {};
/// "None": a new axis of extent 1.
struct NewAxis {};
/// What a slice does with one axis; a number picks one element, and the axis disappears.
using Index = std::variant<std::ptrdiff_t, Range, Ellipsis, NewAxis>;

/// x[text], the text being what stands between Python's brackets, with or without them: "[..., 1::2]", "-1", "::-1, :3". Basic
/// slicing only: numbers, slices, one ellipsis, None. The gradient outside the slice is 0. Throws Error for text that is no
/// slice, more indices than axes, a number out of range, and a step of 0.
template <class T> Var<T> slice(const Var<T>& x, std::string_view text);
/// The same without text: slice(x, {Ellipsis{}, Range{.start = 1, .step = 2}}).
template <class T> Var<T> slice(const Var<T>& x, const std::vector<Index>& indices);

/// Reads such a text. Throws Error that shows where it is wrong.
std::vector<Index> parse_slice(std::string_view text);

} // namespace chalkgrad
