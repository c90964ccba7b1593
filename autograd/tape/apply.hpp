// apply(): records a rule on the tape of its arguments and runs its forward.
#pragma once

#include <initializer_list>
#include <span>

#include <chalkgrad/autograd/base/each.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {
namespace detail {

/// Records `op` for inputs that all live on one tape; throws Error naming the op otherwise. `outlives`: see TapeState.
template <class T> Var<T> record(const Op& op, bool outlives, const Var<T>* const* inputs, std::size_t count);

} // namespace detail

/// Runs a rule on its inputs: checks shapes, computes the value, adds one line to the tape. An absent Var is an optional
/// input that is not given. Throws Error for inputs on different tapes, stale handles and whatever the rule refuses.
template <class Rule, class T, class... More> Var<T> apply(const Rule& rule, const Var<T>& first, const More&... more) {
    const Var<T>* const inputs[] = {&first, &more...};
    if constexpr (std::is_empty_v<Rule>) {
        static const OpOf<Rule> op{Rule{}};
        return detail::record<T>(op, true, inputs, std::size(inputs));
    } else {
        return detail::record<T>(OpOf<Rule>(rule), false, inputs, std::size(inputs));
    }
}

/// The same for a rule of any number of inputs.
template <class Rule, class T> Var<T> apply(const Rule& rule, std::span<const Var<T>> inputs) {
    std::vector<const Var<T>*> pointers;
    for (const Var<T>& x : inputs) pointers.push_back(&x);
    return detail::record<T>(OpOf<Rule>(rule), false, pointers.data(), pointers.size());
}

namespace detail {
/// The type of what a pointer to a function points to, member or not.
template <class P> struct Pointed : std::remove_pointer<P> {};
template <class F, class Class> struct Pointed<F Class::*> { using type = F; };
} // namespace detail

/// At namespace scope: instantiates function templates, free ones and members, one to six, for the six scalars of a Var.
#define CHALKGRAD_INSTANCES(...) CHALKGRAD_EACH(CHALKGRAD_INSTANCE, __VA_ARGS__)
#define CHALKGRAD_INSTANCE(f) CHALKGRAD_INSTANCE_EACH(CHALKGRAD_INSTANCE_BY_NAME, f, )
/// The same for one that has overloads: `Function` is its type as an alias template, `template <class T> using … = Var<T>(…)`.
#define CHALKGRAD_INSTANCES_OF(f, Function) CHALKGRAD_INSTANCE_EACH(CHALKGRAD_INSTANCE_BY_TYPE, f, Function)
#define CHALKGRAD_INSTANCE_BY_NAME(f, none, T) template ::chalkgrad::detail::Pointed<decltype(&f<T>)>::type f<T>
#define CHALKGRAD_INSTANCE_BY_TYPE(f, Function, T) template Function<T> f
#define CHALKGRAD_INSTANCE_EACH(INSTANCE, f, Function) \
    INSTANCE(f, Function, double);                     \
    INSTANCE(f, Function, float);                      \
    INSTANCE(f, Function, long double);                \
    INSTANCE(f, Function, ::chalkgrad::Dual<double>);  \
    INSTANCE(f, Function, ::chalkgrad::half);          \
    INSTANCE(f, Function, ::chalkgrad::bfloat16);

} // namespace chalkgrad
