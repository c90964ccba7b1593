// .npy files: their element types, conversion of elements, and writing format 1.0. npy_read.cpp reads.
#include <chalkgrad/autograd/numpy/npy.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/base/each.hpp>
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/shape.hpp>
#include <chalkgrad/autograd/numpy/npy_format.hpp>

namespace chalkgrad {
namespace {

static_assert(std::endian::native == std::endian::little, "NpyArray's bytes are little-endian");

double widen(std::uint16_t bits) { // IEEE binary16
    const int exponent = bits >> 10 & 0x1f;
    const int fraction = bits & 0x3ff;
    const double size =
        exponent == 31 ? (fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
        : exponent == 0 ? std::ldexp(fraction, -24)
                        : std::ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 ? -size : size;
}

/// Calls visit(values) with the elements in the type they are stored in, those of float16 as doubles.
template <class Visit> void visit_values(const NpyArray& file, Visit visit) {
    if (file.type == NpyType::float16) {
        const auto halves = file.values<std::uint16_t>();
        std::vector<double> wide(halves.size());
        std::transform(halves.begin(), halves.end(), wide.begin(), widen);
        return visit(std::span<const double>(wide));
    }
    const auto try_type = [&](auto element) {
        using T = decltype(element);
        if (file.type == npy_type_of<T>) visit(file.values<T>());
    };
    std::apply([&](auto... elements) { (try_type(elements), ...); },
        std::tuple<bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
            std::int64_t, std::uint64_t, float, double>());
}

/// Whether `to` can stand for `from` under the rules of to_array; sets it if so.
template <class To, class From> bool convert_one(From from, To& to) {
    if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
        to = static_cast<To>(from);
        return std::isfinite(to) || !std::isfinite(from);
    } else if constexpr (std::is_floating_point_v<From>) {
        // 2^digits is the first value too large; the lowest is exact in every From.
        const From above = std::ldexp(From(1), std::numeric_limits<To>::digits);
        if (!(from >= static_cast<From>(std::numeric_limits<To>::min()) && from < above && from == std::trunc(from)))
            return false;
        to = static_cast<To>(from);
        return true;
    } else if constexpr (std::is_floating_point_v<To>) {
        to = static_cast<To>(from);
        const auto whole = +from; // + turns bool into int
        const std::uint64_t magnitude =
            whole < 0 ? 0 - static_cast<std::uint64_t>(whole) : static_cast<std::uint64_t>(whole);
        return magnitude == 0 ||
               std::bit_width(magnitude) - std::countr_zero(magnitude) <= std::numeric_limits<To>::digits;
    } else {
        to = static_cast<To>(from);
        using Limits = std::numeric_limits<To>;
        return std::cmp_less_equal(+Limits::min(), +from) && std::cmp_less_equal(+from, +Limits::max());
    }
}

template <class T> std::string type_name() {
    if constexpr (std::is_same_v<T, long double>) return "long double";
    else return name(npy_type_of<T>);
}

} // namespace

const char* name(NpyType type) { return detail::npy_types[static_cast<std::size_t>(type)].name; }

std::size_t bytes(NpyType type) { return detail::npy_types[static_cast<std::size_t>(type)].bytes; }

NpyType npy_type(std::string_view name) {
    if (name == "double") return NpyType::float64;
    if (name == "float") return NpyType::float32;
    if (name == "half") return NpyType::float16;
    for (std::size_t i = 0; i < detail::npy_types.size(); ++i)
        if (name == detail::npy_types[i].name) return static_cast<NpyType>(i);
    throw Error(fmt::format(
        "npy_type: '{}' is no element type; choose bool, int8 to int64, uint8 to uint64, float16, float32 or float64",
        name));
}

NpyArray::NpyArray(std::vector<std::size_t> shape, NpyType type) : shape(std::move(shape)), type(type) {
    const auto count = detail::byte_count(this->shape, type);
    if (!count)
        throw Error(fmt::format("NpyArray: an array of shape {} exceeds 63 bits of bytes; make it smaller",
            detail::python_tuple(this->shape)));
    data.resize(*count);
}

std::string npy_file(const NpyArray& array) {
    const std::string_view order = bytes(array.type) == 1 ? "|" : "<";
    std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}", order,
        detail::npy_types[static_cast<std::size_t>(array.type)].code, detail::python_tuple(array.shape));
    const std::size_t begin = detail::npy_magic.size() + 4;
    header.resize((begin + header.size() + 1 + 63) / 64 * 64 - begin, ' '); // the elements begin at a multiple of 64
    header.back() = '\n';
    if (header.size() > 0xffff)
        throw Error(fmt::format(
            "npy_file: an array of {} axes has too long a header; drop axes of extent 1", array.shape.size()));

    std::string file;
    file.reserve(begin + header.size() + array.data.size());
    file += detail::npy_magic;
    file += '\x01';
    file += '\x00';
    file += static_cast<char>(header.size() & 0xff);
    file += static_cast<char>(header.size() >> 8);
    file += header;
    file.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    return file;
}

void write_npy(const std::filesystem::path& path, const NpyArray& array) { write_file(path, npy_file(array)); }

namespace detail {

std::string python_tuple(const std::vector<std::size_t>& shape) {
    return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::optional<std::size_t> byte_count(const std::vector<std::size_t>& shape, NpyType type) {
    std::size_t product = bytes(type);
    bool empty = false;
    for (const std::size_t extent : shape) {
        if (extent == 0) empty = true;
        else if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
    }
    if (product > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) return std::nullopt;
    return empty ? 0 : product;
}

void refuse_type(const NpyArray& array, NpyType wanted, const std::string& what) {
    throw Error(fmt::format("{}: holds {} of shape {}, not {}; convert it first", what, name(array.type),
        detail::python_tuple(array.shape), name(wanted)));
}

template <class T> void convert(const NpyArray& file, T* out, const std::string& what) {
    visit_values(file, [&](auto values) {
        for (std::size_t i = 0; i < values.size(); ++i)
            if (!convert_one(values[i], out[i]))
                throw Error(fmt::format("{}: element ({}) = {} is no {}; load it as {}", what,
                    fmt::join(multi_index(i, file.shape), ", "), values[i], type_name<T>(), name(file.type)));
    });
}

#define CHALKGRAD_CONVERT(T) template void convert(const NpyArray&, T*, const std::string&);
CHALKGRAD_EACH(CHALKGRAD_CONVERT, bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t)
CHALKGRAD_EACH(CHALKGRAD_CONVERT, std::uint32_t, std::int64_t, std::uint64_t, float, double, long double)
#undef CHALKGRAD_CONVERT

} // namespace detail
} // namespace chalkgrad
