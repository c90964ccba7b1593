// Operands of an op from .npy files: floating-point numbers only, each rounded at most once.
#include <chalkgrad/experiments/reference/operands.hpp>

#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/kernel/convert.hpp>

namespace chalkgrad {
namespace {

template <class T> constexpr bool is_stored = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

template <class To, class From> Array<To> converted(const Array<From>& from) {
    Array<To> to = Array<To>::from_shape(from.shape());
    if constexpr (is_stored<To> || is_stored<From>) convert(from.size(), from.data(), to.data());
    else
        for (std::size_t i = 0; i < from.size(); ++i) to.data()[i] = static_cast<To>(from.data()[i]);
    return to;
}

void require_floating(const NpyArray& file, const std::string& what) {
    switch (file.type) {
        case NpyType::float16:
        case NpyType::float32:
        case NpyType::float64:
            return;
        case NpyType::uint16:
            throw Error(fmt::format(
                "{}: holds uint16, which means bits of bfloat16 and goes with --dtype bfloat16; else save floats",
                what));
        default:
            throw Error(
                fmt::format("{}: holds {}, not floating-point numbers; save it as float64", what, name(file.type)));
    }
}

} // namespace

template <class T> Array<T> to_operand(const NpyArray& file, const std::string& what) {
    if constexpr (std::is_same_v<T, bfloat16>)
        if (file.type == NpyType::uint16) return to_array<bfloat16>(file, what);
    require_floating(file, what);
    if constexpr (!is_stored<T>) {
        return to_array<T>(file, what);
    } else {
        if (file.type == npy_type_of<T>) return to_array<T>(file, what);
        const Array<double> exact = to_array<double>(file, what);
        const Array<T> x = converted<T>(exact);
        const Array<double> rounded = to_doubles(x);
        for (std::size_t i = 0; i < x.size(); ++i)
            if (std::isinf(rounded.data()[i]) && std::isfinite(exact.data()[i]))
                throw Error(
                    fmt::format("{}: number {} of {} is {}, beyond the range of {}; scale it or choose a wider type",
                        what, i, x.size(), exact.data()[i], name(dtype_of<T>)));
        return x;
    }
}

template <class T> Array<work_t<T>> to_cotangent(const NpyArray& file, const std::string& what) {
    if constexpr (std::is_same_v<T, bfloat16>)
        if (file.type == NpyType::uint16) return converted<float>(to_array<bfloat16>(file, what));
    return to_operand<work_t<T>>(file, what);
}

Array<double> to_doubles(const NpyArray& file, bool bits_are_bfloat16, const std::string& what) {
    if (bits_are_bfloat16 && file.type == NpyType::uint16) return to_doubles(to_array<bfloat16>(file, what));
    return to_operand<double>(file, what);
}

template <class T> Array<double> to_doubles(const Array<T>& x) { return converted<double>(x); }

#define CHALKGRAD_INSTANTIATE(T)                                                    \
    template Array<T> to_operand<T>(const NpyArray&, const std::string&);           \
    template Array<work_t<T>> to_cotangent<T>(const NpyArray&, const std::string&); \
    template Array<double> to_doubles(const Array<T>&);
CHALKGRAD_INSTANTIATE(double)
CHALKGRAD_INSTANTIATE(float)
CHALKGRAD_INSTANTIATE(half)
CHALKGRAD_INSTANTIATE(bfloat16)
#undef CHALKGRAD_INSTANTIATE

} // namespace chalkgrad
