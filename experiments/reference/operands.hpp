// Operands of an op from .npy files: floating-point numbers only, each rounded at most once.
#pragma once

#include <string>

#include <chalkgrad/autograd/numpy/npy.hpp>

namespace chalkgrad {

/// The numbers as T: double, float, half or bfloat16. A file of uint16 holds bfloat16 numbers as bits, and is taken for
/// T = bfloat16 alone. Throws Error, which `what` begins, for files of integers and for finite numbers beyond T's
/// range.
template <class T> Array<T> to_operand(const NpyArray& file, const std::string& what);

/// The same for a cotangent or a gradient of a T: its numbers in work_t<T>, from bits for bfloat16 too.
template <class T> Array<work_t<T>> to_cotangent(const NpyArray& file, const std::string& what);

/// The numbers as doubles; `bits_are_bfloat16` says what uint16 means. Throws Error for files of integers.
Array<double> to_doubles(const NpyArray& file, bool bits_are_bfloat16, const std::string& what);
/// A double for each number; exact.
template <class T> Array<double> to_doubles(const Array<T>& x);

} // namespace chalkgrad
