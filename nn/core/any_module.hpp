// A part of the user's own, under a name: what blocks, FFNs and norms take in the place of theirs.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>

#include <chalkgrad/nn/core/parameter.hpp>

namespace chalkgrad::nn {

/// A function of x, a module, or a function that makes one. The result has the shape of x:
///     AnyModule("mish", [](const auto& x) { return x * tanh(softplus(x)); })
///     AnyModule("mixer", Mixer(8))                                     // one module: the same parameters wherever it stands
///     AnyModule("mixer", [](std::size_t d) { return Mixer(d); })       // a module of its own for each place, of d features
/// A function over const auto& runs in every scalar, one over const Var<double>& in double. Its lines lie in a scope of this name,
/// and its parameters are named below it.
class AnyModule {
public:
    /// Absent: converts to false.
    AnyModule() = default;
    template <class F> AnyModule(std::string name, F f);

    explicit operator bool() const { return !name_.empty(); }
    const std::string& name() const { return name_; }
    /// For a place with d features: made for it if it was given as a function that makes one, else itself.
    AnyModule at(std::size_t d) const;

    /// `role` is its scope's. Throws Error for a result of another shape or from another tape, and in a scalar that it does not take.
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x, Role role = Role::none) const;
    void visit(const Visitor& v) const;

private:
    template <class T> using Call = std::function<Var<T>(Binding<T>&, const Var<T>&)>;

    static std::string checked(std::string name); ///< throws Error for an empty one

    std::string name_;
    std::function<AnyModule(std::size_t d)> make_;
    std::function<void(const Visitor&)> visit_;
    /// Empty in scalars that it does not take.
    std::tuple<Call<double>, Call<float>, Call<long double>, Call<Dual<double>>, Call<half>, Call<bfloat16>> calls_;
};

template <class F> AnyModule::AnyModule(std::string name, F f) : name_(checked(std::move(name))) {
    // In this order, so that a function over const auto& x is never tried with a number.
    constexpr bool function = std::is_invocable_r_v<Var<double>, const F&, const Var<double>&>;
    constexpr bool module = std::is_invocable_r_v<Var<double>, const F&, Binding<double>&, const Var<double>&>;
    static_assert(std::disjunction_v<std::bool_constant<function || module>, std::is_invocable<const F&, std::size_t>>,
        "AnyModule: give a function of x (const auto& x or const Var<double>& x), a module, called with a Binding and "
        "x, or "
        "a function of the number of features that makes a module");
    const auto add = [&]<class T>(Call<T>& call) {
        if constexpr (function && std::is_invocable_r_v<Var<T>, const F&, const Var<T>&>)
            call = [f](Binding<T>&, const Var<T>& x) { return f(x); };
        else if constexpr (module && std::is_invocable_r_v<Var<T>, const F&, Binding<T>&, const Var<T>&>) call = f;
    };
    std::apply([&](auto&... call) { (add(call), ...); }, calls_);
    if constexpr (!function && !module)
        make_ = [f, its_name = name_](std::size_t d) { return AnyModule(its_name, f(d)); };
    if constexpr (requires(const Visitor& v) { f.visit(v); }) visit_ = [f](const Visitor& v) { f.visit(v); };
}

} // namespace chalkgrad::nn
