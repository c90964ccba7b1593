// What reading and writing .npy files share: the words of the format.
#pragma once // internal

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/numpy/npy.hpp>

namespace chalkgrad::detail {

struct NpyTypeInfo {
    const char* name;
    std::string_view code; // after the byte order in a header's 'descr'
    std::size_t bytes;
};
inline constexpr std::array<NpyTypeInfo, 12> npy_types{{{"bool", "b1", 1}, {"int8", "i1", 1}, {"uint8", "u1", 1},
    {"int16", "i2", 2}, {"uint16", "u2", 2}, {"int32", "i4", 4}, {"uint32", "u4", 4}, {"int64", "i8", 8},
    {"uint64", "u8", 8}, {"float16", "f2", 2}, {"float32", "f4", 4}, {"float64", "f8", 8}}};

inline constexpr std::string_view npy_magic{"\x93NUMPY", 6};

/// A shape as Python writes it: "(2, 3)", "(5,)".
std::string python_tuple(const std::vector<std::size_t>& shape);
/// Bytes of an array of this shape, if they fit in 63 bits. Extents beside a 0 must fit too: strides are made of them.
std::optional<std::size_t> byte_count(const std::vector<std::size_t>& shape, NpyType type);

} // namespace chalkgrad::detail
