// apply(): records a rule on the tape of its arguments and runs its forward.
#pragma once

#include <initializer_list>
#include <span>

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

/// In namespace chalkgrad: instantiates function templates, one to six that are not overloaded, for the six scalars of a Var.
#define CHALKGRAD_INSTANCES(f, ...) CHALKGRAD_INSTANCE(f) __VA_OPT__(CHALKGRAD_INSTANCES_2(__VA_ARGS__))
#define CHALKGRAD_INSTANCES_2(f, ...) CHALKGRAD_INSTANCE(f) __VA_OPT__(CHALKGRAD_INSTANCES_3(__VA_ARGS__))
#define CHALKGRAD_INSTANCES_3(f, ...) CHALKGRAD_INSTANCE(f) __VA_OPT__(CHALKGRAD_INSTANCES_4(__VA_ARGS__))
#define CHALKGRAD_INSTANCES_4(f, ...) CHALKGRAD_INSTANCE(f) __VA_OPT__(CHALKGRAD_INSTANCES_5(__VA_ARGS__))
#define CHALKGRAD_INSTANCES_5(f, ...) CHALKGRAD_INSTANCE(f) __VA_OPT__(CHALKGRAD_INSTANCE(__VA_ARGS__))
#define CHALKGRAD_INSTANCE(f)                                                     \
    template decltype(f<double>) f<double>;                                       \
    template decltype(f<float>) f<float>;                                         \
    template decltype(f<long double>) f<long double>;                             \
    template decltype(f<::chalkgrad::Dual<double>>) f<::chalkgrad::Dual<double>>; \
    template decltype(f<::chalkgrad::half>) f<::chalkgrad::half>;                 \
    template decltype(f<::chalkgrad::bfloat16>) f<::chalkgrad::bfloat16>;

} // namespace chalkgrad
