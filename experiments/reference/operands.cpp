// Files become operands of one storage type, the op is called, and its results become files.
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
    if (file.type == NpyType::uint16)
        throw Error(fmt::format(
            "{}: holds uint16, which means bits of bfloat16 and goes with --dtype bfloat16; else save floats", what));
    if (file.type < NpyType::float16)
        throw Error(fmt::format("{}: holds {}, not floating-point numbers; save it as float64", what, name(file.type)));
}

template <class T> Array<double> to_doubles(const Array<T>& x) { return converted<double>(x); } // exact

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

/// The same for a cotangent of a T: its numbers in work_t<T>, from bits for bfloat16 too.
template <class T> Array<work_t<T>> to_cotangent(const NpyArray& file, const std::string& what) {
    if constexpr (std::is_same_v<T, bfloat16>)
        if (file.type == NpyType::uint16) return converted<float>(to_array<bfloat16>(file, what));
    return to_operand<work_t<T>>(file, what);
}

template <class T> OpResult result(std::string name, const Array<T>& x) { return {name, to_npy(x), to_doubles(x)}; }

template <class T> OpCall call(const CatalogEntry& op, const OpArguments& given) {
    const Tape tape;
    std::vector<std::pair<std::string, Var<T>>> variables;
    std::vector<NamedArray> numbers;
    for (const FileOperand& x : given.inputs) {
        const Array<T> values = to_operand<T>(x.file, x.what);
        if (given.check) given.check(x, to_doubles(values));
        variables.emplace_back(x.name, tape.variable(values, x.name));
    }
    for (const FileOperand& x : given.constants) {
        numbers.push_back({x.name, to_array<double>(x.file, x.what)});
        if (given.check) given.check(x, numbers.back().values);
    }
    Arguments<T> arguments(op.name, tape, variables, std::move(numbers), given.attributes);
    const Var<T> y = op.call(arguments);
    const auto backward = [variables, y](const NpyArray& cotangent, const std::string& what) {
        y.backward(to_cotangent<T>(cotangent, what));
        std::vector<OpResult> gradients;
        for (const auto& [name, x] : variables)
            gradients.push_back(result<work_t<T>>(
                name + ".grad", x.has_grad() ? x.grad() : Array<work_t<T>>(x.value().shape(), work_t<T>(0))));
        return gradients;
    };
    return {result("y", y.value()), backward};
}

} // namespace

OpCall call_op(const CatalogEntry& op, Dtype dtype, const OpArguments& given) {
    return (dtype == Dtype::f32    ? call<float>
            : dtype == Dtype::f16  ? call<half>
            : dtype == Dtype::bf16 ? call<bfloat16>
                                   : call<double>)(op, given);
}

Array<double> to_doubles(const NpyArray& file, bool bits_are_bfloat16, const std::string& what) {
    if (bits_are_bfloat16 && file.type == NpyType::uint16) return to_doubles(to_array<bfloat16>(file, what));
    return to_operand<double>(file, what);
}

} // namespace chalkgrad
