// custom(): a user's own op from two lambdas over arrays; it goes through gradcheck, tables and drawings like any other.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
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

/// The op's functions in one scalar, with any number of arrays in a list.
template <class T> struct CustomFunctions {
    std::function<Array<T>(const std::vector<Array<T>>&)> forward;
    std::function<std::vector<Array<T>>(const std::vector<Array<T>>&, const Array<T>& y, const Array<T>& gy)> vjp;
};
/// By Dtype, a CustomFunctions of that scalar; nothing where the lambdas do not run in it.
using CustomScalars = std::array<std::shared_ptr<const void>, 4>;

/// The op of custom() in any scalar.
class CustomOp : public Op {
public:
    virtual const CustomOptions& options() const = 0;
};

template <class T>
Var<T> record_custom(std::string name, CustomScalars all, const std::vector<Var<T>>& inputs, CustomOptions options);

/// Arrays that own their numbers.
template <class R> inline constexpr bool owns = false;
template <class Store, xt::layout_type L, class Extents, class Tag>
inline constexpr bool owns<xt::xarray_container<Store, L, Extents, Tag>> = true;
template <class Store, std::size_t rank, xt::layout_type L, class Tag>
inline constexpr bool owns<xt::xtensor_container<Store, rank, L, Tag>> = true;

/// What a lambda returns, by its type R: arrays or numbers that T holds, those of a scalar that loses digits or tangents of T,
/// or what only refers to arrays.
enum class Returns { numbers, other_scalar, references };
template <class T, class R> constexpr Returns returns() {
    if constexpr (requires { std::tuple_size<R>::value; }) return []<std::size_t... I>(std::index_sequence<I...>) {
            return std::max({Returns::numbers, returns<T, std::tuple_element_t<I, R>>()...});
        }
    (std::make_index_sequence<std::tuple_size_v<R>>());
    else if constexpr (std::is_same_v<R, T> || std::is_integral_v<R>) return Returns::numbers;
    else if constexpr (std::is_floating_point_v<R>) return std::is_floating_point_v<T> && sizeof(R) >= sizeof(T)
        ? Returns::numbers
        : Returns::other_scalar;
    else if constexpr (owns<R> ||
                       requires(R list) { list.push_back(list[0]); }) return returns<T, typename R::value_type>();
    else return Returns::references; }

/// What a lambda returned, one array each.
template <class T, class R> std::vector<Array<T>> as_list(R result) {
    std::vector<Array<T>> list;
    const auto add = [&list](auto& one) {
        if constexpr (owns<std::decay_t<decltype(one)>>) list.emplace_back(std::move(one));
        else list.emplace_back(static_cast<T>(one));
    };
    if constexpr (requires { std::tuple_size<R>::value; }) std::apply([&](auto&... each) { (add(each), ...); }, result);
    else if constexpr (requires { result.push_back(result[0]); })
        for (auto& one : result) add(one);
    else add(result);
    return list;
}

/// Two lambdas over arrays of scalar T, one for each I.
template <class T, class Forward, class Vjp, std::size_t... I> struct CustomLambdas {
    template <std::size_t> using Each = const Array<T>&;
    static constexpr bool takes = std::is_invocable_v<const Forward&, Each<I>...>;
    static constexpr bool vjp_takes = std::is_invocable_v<const Vjp&, Each<I>..., const Array<T>&, const Array<T>&>;

    static constexpr Returns forward_returns() {
        return returns<T, std::invoke_result_t<const Forward&, Each<I>...>>();
    }
    static constexpr Returns vjp_returns() {
        return returns<T, std::invoke_result_t<const Vjp&, Each<I>..., const Array<T>&, const Array<T>&>>();
    }
    /// Whether both are of this scalar.
    static constexpr bool fit() {
        if constexpr (takes && vjp_takes)
            return forward_returns() == Returns::numbers && vjp_returns() == Returns::numbers;
        else return false;
    }
    static void add_to(CustomScalars& all, const Forward& forward, const Vjp& vjp) {
        all[static_cast<std::size_t>(dtype_of<T>)] = std::make_shared<CustomFunctions<T>>(CustomFunctions<T>{
            [forward](const std::vector<Array<T>>& x) { return std::move(as_list<T>(forward(x[I]...)).front()); },
            [vjp](const std::vector<Array<T>>& x, const Array<T>& y, const Array<T>& gy) {
                return as_list<T>(vjp(x[I]..., y, gy));
            }});
    }
};

/// The lambdas in the scalar T, and where they are generic and T is double, in the others too.
template <class T, class Forward, class Vjp, std::size_t... I>
CustomScalars custom_scalars(const Forward& forward, const Vjp& vjp, std::index_sequence<I...>) {
    CustomScalars all;
    using Lambdas = CustomLambdas<T, Forward, Vjp, I...>;
    static_assert(Lambdas::takes, "custom: forward must be callable, as const, with one const Array<T>& for each Var");
    static_assert(Lambdas::vjp_takes,
        "custom: the backward must be callable, as const, with (x, ..., y, gy): one const "
        "Array<T>& for each Var, then the output and its cotangent");
    if constexpr (Lambdas::takes && Lambdas::vjp_takes) {
        constexpr Returns forward_returns = Lambdas::forward_returns(), vjp_returns = Lambdas::vjp_returns();
        static_assert(forward_returns != Returns::references,
            "custom: forward must return an array or a number by value; a lazy expression like x * x refers to what "
            "dies "
            "with the lambda: write return xt::eval(x * x) or return Array<double>(x * x)");
        static_assert(vjp_returns != Returns::references,
            "custom: the backward must return arrays or numbers by value; a lazy expression like 2. * x * gy refers to "
            "what dies with the lambda: write return xt::eval(2. * x * gy) or return Array<double>(2. * x * gy)");
        static_assert(forward_returns != Returns::other_scalar && vjp_returns != Returns::other_scalar,
            "custom: the lambdas must return arrays or numbers of the scalar that the Vars have; float where they are "
            "double loses digits");
        if constexpr (Lambdas::fit()) Lambdas::add_to(all, forward, vjp);
        // In long double first: lambdas over const auto& that return Array<double> are of one scalar all the same.
        if constexpr (std::is_same_v<T, double> && Lambdas::fit()) {
            using Long = CustomLambdas<long double, Forward, Vjp, I...>;
            if constexpr (Long::fit()) {
                using Duals = CustomLambdas<Dual<double>, Forward, Vjp, I...>;
                if constexpr (Duals::fit()) {
                    Long::add_to(all, forward, vjp);
                    Duals::add_to(all, forward, vjp);
                    CustomLambdas<float, Forward, Vjp, I...>::add_to(all, forward, vjp);
                }
            }
        }
    }
    return all;
}

} // namespace detail

/// Records y = forward(x, …) with the backward vjp(x, …, y, gy), both over `xt::xarray<T>`, T the scalar of the Vars (float
/// for half and bfloat16):
///     custom("cube", [](const auto& x) { return xt::eval(x * x * x); },
///                    [](const auto& x, const auto& y, const auto& gy) { return xt::eval(3. * x * x * gy); }, x)
/// Both return by value: an array or a number. With several inputs vjp returns a std::tuple or std::vector of them, one for
/// each input, each of that input's shape. Lambdas that are generic (`const auto&`) and return arrays of what they are handed run
/// in every scalar, so that jvp, hvp and gradcheck's dual numbers go through them; those over `Array<double>` run in double.
/// forward may not depend on anything else: gradcheck calls it again at other points. The arrays that both are handed hold
/// other numbers after the call: keep copies, not references. Throws Error, naming the op, for a gradient of another shape
/// and on a shape-only tape, which cannot run a lambda.
template <class T, class Forward, class Vjp, class... More>
Var<T> custom(
    std::string name, Forward forward, Vjp vjp, CustomOptions options, const Var<T>& first, const More&... more) {
    constexpr bool one_scalar = (std::is_same_v<More, Var<T>> && ...);
    static_assert(one_scalar, "custom: its inputs must be Vars of one scalar; cast<T>(x) makes another of one");
    if constexpr (one_scalar)
        return detail::record_custom<T>(std::move(name),
            detail::custom_scalars<work_t<T>>(forward, vjp, std::make_index_sequence<1 + sizeof...(More)>()),
            {first, more...}, std::move(options));
}

/// The same without options.
template <class T, class Forward, class Vjp, class... More>
Var<T> custom(std::string name, Forward forward, Vjp vjp, const Var<T>& first, const More&... more) {
    return custom(std::move(name), std::move(forward), std::move(vjp), CustomOptions{}, first, more...);
}

} // namespace chalkgrad
