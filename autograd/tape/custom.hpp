// custom(): a user's own op from two lambdas over arrays; it goes through gradcheck, tables and drawings like any other.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <chalkgrad/autograd/tape/rule.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

struct Identity;

/// What may be said of a user's op beside its two lambdas. A call names what it gives and leaves out the rest:
///     custom("clamp", forward, backward, {.inputs = {"x"}, .kinks = kinks_at({-7, 7})}, x)
struct CustomOptions {
    using Inputs = std::vector<Array<double>>;
    /// What reports and drawings call the operands; else each is called as its tape line is, or x0, x1, …
    std::vector<std::string> inputs = {};
    /// On which side of each kink the numbers lie: `sides.branch(0, x[0](i), 7.)` for every element. gradcheck takes no difference
    /// across a kink, and says which side no number lies on.
    std::function<void(const Inputs& x, KinkSides& sides)> kinks = {};
    /// The length over which the op bends, or the distance to the end of its domain; 1 if absent.
    std::function<double(const Inputs& x)> length_scale = {};
    /// What is known of the Jacobian, by the names of `inputs`; gradcheck holds the backward against it.
    std::function<std::vector<Identity>(const Inputs& x)> identities = {};
};

/// For CustomOptions::kinks: the op bends wherever an element of the first input passes one of these numbers, four at most.
std::function<void(const CustomOptions::Inputs&, KinkSides&)> kinks_at(std::vector<double> places);

namespace detail {

/// The op's functions with any number of arrays in a list.
template <class T> struct CustomFunctions {
    std::function<Array<T>(const std::vector<Array<T>>&)> forward;
    std::function<std::vector<Array<T>>(const std::vector<Array<T>>&, const Array<T>& y, const Array<T>& gy)> vjp;
};

/// The op of custom() in any scalar.
class CustomOp : public Op {
public:
    virtual const CustomOptions& options() const = 0;
};

template <class T>
Var<T> record_custom(
    std::string name, CustomFunctions<T> functions, const std::vector<Var<T>>& inputs, CustomOptions options = {});

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
/// forward may not depend on anything else: gradcheck calls it again at other points. The arrays that both are handed hold
/// other numbers after the call: keep copies, not references. Throws Error, naming the op, for a gradient of another shape
/// and on a shape-only tape, which cannot run a lambda.
template <class T, class Forward, class Vjp, class... More>
Var<T> custom(
    std::string name, Forward forward, Vjp vjp, CustomOptions options, const Var<T>& first, const More&... more) {
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
    return detail::record_custom<T>(std::move(name), std::move(functions), {first, more...}, std::move(options));
}

/// The same without options.
template <class T, class Forward, class Vjp, class... More>
Var<T> custom(std::string name, Forward forward, Vjp vjp, const Var<T>& first, const More&... more) {
    return custom(std::move(name), std::move(forward), std::move(vjp), CustomOptions{}, first, more...);
}

} // namespace chalkgrad
