// NumPy's .npy files, read with suspicion and written whole or not at all.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <chalkgrad/autograd/base/array.hpp>
#include <chalkgrad/autograd/base/scalar.hpp>

namespace chalkgrad {

/// The element types that are read and written: NumPy's b1, i1 … u8, f2, f4, f8.
enum class NpyType : std::uint8_t {
    boolean,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float16,
    float32,
    float64
};

/// NumPy's name: "bool", "int8", …, "float64".
const char* name(NpyType type);
/// The type with this name (also "double", "float" and "half"). Throws Error for another one.
NpyType npy_type(std::string_view name);
/// Bytes of one element.
std::size_t bytes(NpyType type);

struct NpyArray;

namespace detail {
template <class T> constexpr NpyType npy_type_of() {
    if constexpr (std::is_same_v<T, bool>) return NpyType::boolean;
    else if constexpr (std::is_same_v<T, double>) return NpyType::float64;
    else if constexpr (std::is_same_v<T, float>) return NpyType::float32;
    else if constexpr (std::is_same_v<T, half>) return NpyType::float16;
    else if constexpr (std::is_same_v<T, bfloat16>) return NpyType::uint16; // NumPy has no bfloat16: bit patterns
    else {
        static_assert(std::integral<T>, "no .npy element type corresponds to T");
        constexpr NpyType types[2][4] = {{NpyType::uint8, NpyType::uint16, NpyType::uint32, NpyType::uint64},
            {NpyType::int8, NpyType::int16, NpyType::int32, NpyType::int64}};
        return types[std::is_signed_v<T>][sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3];
    }
}
/// Values of `array` as T, written to `out`; `what` begins the error message.
template <class T> void convert(const NpyArray& array, T* out, const std::string& what);
[[noreturn]] void refuse_type(const NpyArray& array, NpyType wanted, const std::string& what);
} // namespace detail

/// The type a T has in a file: half is float16, bfloat16 the bits of a uint16.
template <class T> inline constexpr NpyType npy_type_of = detail::npy_type_of<T>();

/// What a file holds, untouched: a float16 is its 16 bits.
struct NpyArray {
    std::vector<std::size_t> shape; ///< Empty for a 0-d array, which holds one element.
    NpyType type = NpyType::float64;
    std::vector<std::byte> data; ///< Row-major (C order), little-endian, size() * bytes(type) long.

    NpyArray() = default;
    /// Zeros. Throws Error when the size in bytes does not fit in 63 bits.
    NpyArray(std::vector<std::size_t> shape, NpyType type);

    std::size_t size() const { return data.size() / bytes(type); }
    /// The elements as they are. T must be the file's own type, or uint16 for the bits of float16; Error otherwise.
    template <class T> std::span<const T> values() const {
        check<T>();
        return {reinterpret_cast<const T*>(data.data()), size()};
    }
    template <class T> std::span<T> values() {
        check<T>();
        return {reinterpret_cast<T*>(data.data()), size()};
    }

private:
    template <class T> void check() const {
        if (type != npy_type_of<T> && !(std::is_same_v<T, std::uint16_t> && type == NpyType::float16))
            detail::refuse_type(*this, npy_type_of<T>, "NpyArray");
    }
};

/// Reads a file of format 1.0, 2.0 or 3.0: either byte order, C or Fortran order, any rank. Bytes after the array are
/// ignored, as NumPy does. Throws Error for everything else (truncated or malformed files, objects, strings, complex
/// and structured types …), without first allocating what a false header promises.
NpyArray read_npy(const std::filesystem::path& path);
/// The same from memory; `what` begins the error message.
NpyArray parse_npy(std::string_view file, const std::string& what = "parse_npy");

/// The bytes of a format 1.0 file, as NumPy writes it.
std::string npy_file(const NpyArray& array);
/// Throws Error as write_file does.
void write_npy(const std::filesystem::path& path, const NpyArray& array);

/// The elements as T. A floating-point T takes the nearest value of a wider float, but an integer must be exact,
/// nothing finite may become infinite, and an integer T takes whole numbers in range only: Error names the first
/// element that is not. half and bfloat16 are taken as they are, from float16 and from uint16 bits alone.
template <class T> Array<T> to_array(const NpyArray& file, const std::string& what = "to_array") {
    Array<T> x = Array<T>::from_shape(file.shape);
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
        if (file.type != npy_type_of<T>) detail::refuse_type(file, npy_type_of<T>, what);
        if (!file.data.empty()) std::memcpy(x.data(), file.data.data(), file.data.size());
    } else {
        detail::convert<T>(file, x.data(), what);
    }
    return x;
}

template <class T> NpyArray to_npy(const Array<T>& x) {
    NpyArray file(std::vector<std::size_t>(x.shape().begin(), x.shape().end()), npy_type_of<T>);
    if (!file.data.empty()) std::memcpy(file.data.data(), x.data(), file.data.size());
    return file;
}

/// read_npy, then to_array.
template <class T = double> Array<T> load_npy(const std::filesystem::path& path) {
    return to_array<T>(read_npy(path), "load_npy: '" + path.string() + "'");
}

/// Writes x as NumPy's own type for T.
template <class T> void save_npy(const std::filesystem::path& path, const Array<T>& x) { write_npy(path, to_npy(x)); }

} // namespace chalkgrad
