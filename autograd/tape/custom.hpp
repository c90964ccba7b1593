// custom(): a user's own op from two lambdas over arrays; it goes through gradcheck, tables and drawings like any other.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {
namespace detail {

/// The op's functions with any number of arrays in a list.
template <class T> struct CustomFunctions {
    std::function<Array<T>(const std::vector<Array<T>>&)> forward;
    std::function<std::vector<Array<T>>(const std::vector<Array<T>>&, const Array<T>& y, const Array<T>& gy)> vjp;
};

template <class T>
Var<T> record_custom(std::string name, CustomFunctions<T> functions, const std::vector<Var<T>>& inputs);

template <class T> std::vector<Array<T>> as_list(Array<T> one) { return {std::move(one)}; }
template <class T> std::vector<Array<T>> as_list(std::vector<Array<T>> list) { return list; }
template <class T, class... More> std::vector<Array<T>> as_list(std::tuple<Array<T>, More...> tuple) {
    return std::apply([](auto&&... each) { return std::vector<Array<T>>{std::move(each)...}; }, std::move(tuple));
}

} // namespace detail

/// Records y = forward(x, …) with the backward vjp(x, …, y, gy), both over `xt::xarray<T>`, T double or float:
///     custom("cube", [](const Array<double>& x) { return Array<double>(x * x * x); },
///                    [](const Array<double>& x, const Array<double>& y, const Array<double>& gy) { return Array<double>(3. * x * x * gy); }, x)
/// With several inputs vjp returns a std::tuple or std::vector of arrays, one for each input, each of that input's shape.
/// forward may not depend on anything else: gradcheck calls it again at other points. Throws Error, naming the op, for a
/// gradient of another shape and on a shape-only tape, which cannot run a lambda.
template <class T, class Forward, class Vjp, class... More>
Var<T> custom(std::string name, Forward forward, Vjp vjp, const Var<T>& first, const More&... more) {
    const auto spread =
        []<std::size_t... I>(std::index_sequence<I...>, auto& f, const std::vector<Array<T>>& x, const auto&... rest) {
        return f(x[I]..., rest...);
    };
    using Indices = std::make_index_sequence<1 + sizeof...(More)>;
    detail::CustomFunctions<T> functions;
    functions.forward = [forward, spread](
                            const std::vector<Array<T>>& x) { return Array<T>(spread(Indices(), forward, x)); };
    functions.vjp = [vjp, spread](const std::vector<Array<T>>& x, const Array<T>& y, const Array<T>& gy) {
        return detail::as_list<T>(spread(Indices(), vjp, x, y, gy));
    };
    return detail::record_custom<T>(std::move(name), std::move(functions), {first, more...});
}

} // namespace chalkgrad
